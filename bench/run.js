// Compares mcp-proxy with the floor (bench/floor.mjs), interleaved in one run: `npm run bench`. Prints ratios, never fails.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { LoadClient } from './load.mjs'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const SERVER = [process.execPath, here('server.mjs')]
const SLICES = 5

const TARGETS = {
  floor: [here('floor.mjs'), ...SERVER],
  ours: [here('../bin/mcp-proxy.js'), 'bridge', '--port', '0', '--', ...SERVER],
}

const WORKLOADS = [
  { name: '200 B, one at a time', sessions: 1, lanes: 1, calls: 600, size: 20 },
  { name: '200 B, 8 sessions, 64 in flight', sessions: 8, lanes: 8, calls: 6000, size: 20 },
  { name: '10 KB, 8 sessions, 64 in flight', sessions: 8, lanes: 8, calls: 2000, size: 10_000 },
  { name: '1 MiB results, one at a time', sessions: 1, lanes: 1, calls: 40, size: 1 << 20 },
]

const start = args =>
  new Promise(resolve => {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    createInterface({ input: child.stdout }).on('line', line => {
      const url = /http:\/\/\S+\/mcp/.exec(line)?.[0]
      if (url !== undefined) resolve({ child, url })
    })
  })

/** CPU milliseconds that a process has used, user and system (Linux; elsewhere unknown). */
const cpuMs = pid => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

async function slice({ url, child }, { sessions, lanes, calls, size }) {
  const clients = Array.from({ length: sessions }, () => new LoadClient(url, lanes))
  await Promise.all(clients.map(client => client.open()))
  const cpu = cpuMs(child.pid)
  const from = performance.now()
  let left = calls
  const lane = async client => {
    while (left > 0) {
      left -= 1
      await client.call(size, ',"padding":"................................"')
    }
  }
  await Promise.all(clients.flatMap(client => Array.from({ length: lanes }, () => lane(client))))
  const tookMs = performance.now() - from
  const usedMs = cpuMs(child.pid) - cpu
  for (const client of clients) client.close()
  return { perSecond: (calls / tookMs) * 1000, cpuUs: (usedMs / calls) * 1000 }
}

const median = values => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

if (!existsSync(here('../dist'))) {
  console.log('dist is missing: run `npm run build` first')
} else {
  const running = {}
  for (const [name, args] of Object.entries(TARGETS)) running[name] = await start(args)
  console.log('workload'.padEnd(36), 'floor/s'.padStart(9), 'ours/s'.padStart(9), 'ratio'.padStart(7), 'CPU ratio'.padStart(10))
  for (const workload of WORKLOADS) {
    const results = { floor: [], ours: [] }
    for (const target of Object.values(running)) await slice(target, { ...workload, calls: Math.ceil(workload.calls / 4) })
    for (let n = 0; n < SLICES; n += 1) {
      for (const name of Object.keys(TARGETS)) results[name].push(await slice(running[name], workload))
    }
    const of = (name, key) => median(results[name].map(result => result[key]))
    console.log(
      workload.name.padEnd(36),
      of('floor', 'perSecond').toFixed(0).padStart(9),
      of('ours', 'perSecond').toFixed(0).padStart(9),
      (of('ours', 'perSecond') / of('floor', 'perSecond')).toFixed(2).padStart(7),
      (of('ours', 'cpuUs') / of('floor', 'cpuUs')).toFixed(2).padStart(10),
    )
  }
  for (const { child } of Object.values(running)) child.kill()
}
