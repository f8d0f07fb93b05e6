// Compares mcp-proxy with the floor (bench/floor), and with peers on demand, in slices that take turns. Reports, and never fails.
//   npm run bench                 about two minutes
//   npm run bench -- --full       everything, with peers
//   npm run bench -- --only TEXT  workloads whose name holds TEXT, such as "http: 200 B"
//   --peers   with proxies from npm; --slices N; --slice-ms N; --json FILE
import { fork, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { residentKiB } from './load/processes.js'
import { figure, heading, machine, median, ratio, rows, verdictOf } from './report.js'
import { arePeersInstalled, benchFolder, endAll, PEER_NAMES, TARGETS } from './targets.js'
import { WORKLOADS } from './workloads.js'

const { values: args } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string' },
    slices: { type: 'string', default: '3' },
    'slice-ms': { type: 'string', default: '600' },
  },
})
const SLICES = Number(args.slices) + (args.full ? 2 : 0)
const SLICE_MS = Number(args['slice-ms'])
const FLAT_CALLS = 40_000
const CROWD = 1000

const say = text => console.log(text)

/** The load generator, a process of its own. */
class Load {
  #process = fork(fileURLToPath(new URL('load/main.js', import.meta.url)))
  #waiting = new Map()
  #last = 0

  constructor() {
    this.#process.on('message', ({ id, result, error }) => {
      const { resolve, reject } = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) resolve(result)
      else reject(new Error(error))
    })
    this.#process.on('exit', code => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the load generator ended with ${code}`))
      this.#waiting.clear()
    })
  }

  tell(job, jobArgs) {
    return new Promise((resolve, reject) => {
      if (!this.#process.connected) {
        reject(new Error('the load generator is gone'))
        return
      }
      this.#last += 1
      this.#waiting.set(this.#last, { resolve, reject })
      this.#process.send({ id: this.#last, job, args: jobArgs })
    })
  }

  end() {
    this.#process.disconnect()
  }
}

const load = new Load()
const targetNames = ['floor', 'ours', ...(args.peers || args.full ? PEER_NAMES : [])]
const report = { machine: machine(), workloads: [], figures: {} }
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Targets that are running, by way in and what they serve: started once for all workloads of one kind. */
const started = new Map()

async function targetFor(name, workload, pages) {
  const { front, servers, tools } = workload
  const key = `${name} ${front} ${servers ?? ''} ${tools ?? ''}`
  const known = started.get(key)
  if (known !== undefined) return known
  const target = await TARGETS[name][front]({ servers, tools, pages })
  started.set(key, target)
  return target
}

/** A proxy on stdio is its session: like the others, it stays for all workloads of its kind, as it does with users. */
const staysOpen = ({ front }) => front === 'stdio'
const groupOf = (name, workload) => (staysOpen(workload) ? `${name} stdio` : name)
const open = new Set()

/** Opens the sessions of one workload at one target. */
async function openAt(name, workload, pages) {
  const target = await targetFor(name, workload, pages)
  const group = groupOf(name, workload)
  if (open.has(group)) return undefined
  if (staysOpen(workload)) open.add(group)
  return await load.tell('open', { name: group, target, sessions: workload.sessions })
}

/** Ours first where the floor has to send the same pages. */
async function openAll(workload) {
  const names = targetNames.filter(name => TARGETS[name][workload.front] !== undefined)
  if (workload.front !== 'many') {
    for (const name of names) await openAt(name, workload)
    return names
  }
  let pages = {}
  for (let n = 0; n < 50; n += 1) {
    const opened = await openAt('ours', { ...workload, sessions: 1 })
    pages = opened.pages
    await load.tell('close', { name: 'ours' })
    const found = Object.values(pages).join('').split('"inputSchema"').length - 1
    if (found >= workload.servers * workload.tools) break
    await pause(200)
  }
  for (const name of names) await openAt(name, workload, pages)
  return names
}

const faultsOf = slices =>
  slices.reduce((sum, slice) => sum + slice.wrong + slice.doubled + slice.lost + slice.unordered, 0)

const runSlice = (name, workload, forMs) =>
  load.tell('run', {
    name: groupOf(name, workload),
    inFlight: workload.inFlight,
    work: workload.work,
    forMs,
    maxCalls: Number.MAX_SAFE_INTEGER,
  })

async function measure(workload) {
  const names = await openAll(workload)
  const slices = Object.fromEntries(names.map(name => [name, []]))
  for (const name of names) await runSlice(name, workload, SLICE_MS / 2)
  for (let n = 0; n < SLICES; n += 1) {
    for (const name of names) slices[name].push(await runSlice(name, workload, SLICE_MS))
  }
  if (!staysOpen(workload)) for (const name of names) await load.tell('close', { name })
  const results = {}
  for (const name of names) {
    const ratios = {
      rate: ratio(slices[name], slices.floor, 'perSecond'),
      cpu: ratio(slices[name], slices.floor, 'cpuUs'),
      p50: ratio(slices[name], slices.floor, 'p50Ms'),
    }
    const faults = faultsOf(slices[name])
    results[name] = { slices: slices[name], ratios, verdict: verdictOf(workload, ratios), faults }
    const example = slices[name].find(slice => slice.example !== undefined)?.example
    if (faults > 0)
      say(`    ${name}: ${faults} answers that were wrong, doubled, lost or out of order; ${example}`)
  }
  for (const row of rows(workload, results)) say(row)
  const { front, must, wish } = workload
  report.workloads.push({ name: workload.name, front, must, wish, results })
}

/** From the start of the process to the first list of tools, and what it takes in memory when nothing happens. */
async function measureStart() {
  const ms = Object.fromEntries(targetNames.map(name => [name, []]))
  const idle = Object.fromEntries(targetNames.map(name => [name, []]))
  for (let n = 0; n < SLICES + 2; n += 1) {
    for (const name of targetNames) {
      const from = performance.now()
      const target = await TARGETS[name].http({})
      await load.tell('open', { name, target, sessions: 1 })
      ms[name].push(performance.now() - from)
      await pause(300)
      idle[name].push(residentKiB(target.pid) / 1024)
      await load.tell('close', { name })
      target.end()
    }
  }
  tellFigure('start to the first tools/list', ms, 'ms')
  tellFigure('memory when idle', idle, 'MiB')
}

function tellFigure(name, values, unit) {
  const medians = Object.fromEntries(Object.entries(values).map(([target, all]) => [target, median(all)]))
  report.figures[name] = { unit, ...medians }
  say(`${figure(name, medians, unit)}   ours / floor ${(medians.ours / medians.floor).toFixed(2)}`)
}

/** What calls and sessions leave in memory, and whether anything grows with calls. Several times: heaps grow in steps. */
async function measureMemory() {
  const of = () => Object.fromEntries(targetNames.map(name => [name, []]))
  const [perSession, afterLoad, growth] = [of(), of(), of()]
  for (let n = 0; n < SLICES / 2; n += 1) {
    for (const name of targetNames) {
      const found = await memoryOf(name, args.full && n === 0)
      perSession[name].push(found.perSession)
      afterLoad[name].push(found.afterLoad)
      growth[name].push(found.growth)
    }
  }
  tellFigure('memory after load', afterLoad, 'MiB')
  tellFigure(`memory of a session, of ${CROWD}`, perSession, 'KiB')
  if (args.full) tellFigure(`growth over ${FLAT_CALLS} calls`, growth, 'KiB')
}

async function memoryOf(name, isLong) {
  const target = await TARGETS[name].http({})
  const work = { tool: 'make', size: 20, argument: 32, notices: 0 }
  const run = maxCalls => load.tell('run', { name, inFlight: 16, work, forMs: 10_000, maxCalls })
  const openCrowd = (crowd, sessions) => load.tell('open', { name: `${name} ${crowd}`, target, sessions })
  await load.tell('open', { name, target, sessions: 1 })
  await run(5000)
  let growth = Number.NaN
  if (isLong) {
    for (let n = 0; n < 4; n += 1) await run(FLAT_CALLS / 4)
    const middle = residentKiB(target.pid)
    for (let n = 0; n < 4; n += 1) await run(FLAT_CALLS / 4)
    growth = residentKiB(target.pid) - middle
  }
  const afterLoad = residentKiB(target.pid) / 1024
  // The first of them live in what the load has left free. Some peers start a process for each session.
  const count = PEER_NAMES.includes(name) ? CROWD / 50 : CROWD
  await openCrowd('first', count / 10)
  const before = residentKiB(target.pid)
  await openCrowd('crowd', count)
  await pause(500)
  const perSession = (residentKiB(target.pid) - before) / count
  for (const group of [name, `${name} first`, `${name} crowd`]) await load.tell('close', { name: group })
  target.end()
  return { perSession, afterLoad, growth }
}

function installPeers() {
  if (!(args.peers || args.full) || arePeersInstalled()) return
  say('installing the peers into bench/node_modules')
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: benchFolder,
    stdio: 'inherit',
  })
  if (status === 0) return
  say('the peers could not be installed: going on without them')
  targetNames.splice(2)
}

async function main() {
  installPeers()
  const isWanted = text => args.only === undefined || text.includes(args.only)
  const wanted = WORKLOADS.filter(({ isFull, front, name }) =>
    args.only === undefined ? args.full || isFull !== true : isWanted(`${front}: ${name}`),
  )
  say(heading())
  for (const workload of wanted) {
    try {
      await measure(workload)
    } catch (error) {
      say(`${workload.front}: ${workload.name}: not measured: ${error.message}`)
    }
  }
  if (isWanted('start')) await measureStart()
  if (isWanted('memory')) await measureMemory()
  if (args.json !== undefined) writeFileSync(args.json, JSON.stringify(report, undefined, 1))
}

if (existsSync(new URL('../dist', import.meta.url))) {
  try {
    await main()
  } catch (error) {
    say(`the benchmark ended early: ${error.stack}`)
  }
} else {
  say('dist is missing: run `npm run build` first')
}
endAll()
load.end()
