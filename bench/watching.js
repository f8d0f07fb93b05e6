// Compares the same proxy with and without metrics, a viewer or traces.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { residentKiB } from './load/processes.js'
import { slices } from './options.js'
import { freshFolder, start, writeTemporary } from './programs.js'
import { median } from './report.js'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const COLLECT = here('../test/soak/gc-on-signal.mjs')
const OURS = [process.execPath, '--expose-gc', '--import', COLLECT, here('../bin/mcp-proxy.js')]
const SERVER = { command: process.execPath, args: [here('servers/stdio.js')], env: { BENCH_TOOLS: '1' } }
const VIEWS = 'status,servers,calls,clients,errors'
const CALLS = 20_000
const SETTLE_MS = 500

/** Each row's setting, its counterpart in the other proxy, and the maximum CPU overhead. */
export const ROWS = {
  metrics: { with: {}, without: { metrics: false }, limit: 1.02 },
  viewer: { with: {}, without: {}, hasViewer: true, limit: 1.03 },
  'traces, not sampled': { with: { tracing: { ratio: 0 } }, without: {}, limit: 1.02 },
  'traces, one in ten sampled': { with: { tracing: { ratio: 0.1, perSecond: 10_000 } }, without: {} },
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

let collecting
/** Starts a span collector in this process that accepts everything. */
const collector = () => {
  collecting ??= new Promise(resolve => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.end())
    })
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`))
    server.unref()
  })
  return collecting
}

const urlIn = line => /http:\/\/\S+\/mcp\b/.exec(line)?.[0]

/** Starts a proxy for one server; `more` adds to its configuration. */
const startProxy = async ({ tracing, ...more }) => {
  const [state, report] = [freshFolder(), join(freshFolder(), 'report')]
  const traced = tracing && { tracing: { endpoint: await collector(), ...tracing } }
  const file = writeTemporary({ mcpServers: { s0: SERVER }, ...more, ...traced })
  const env = { XDG_STATE_HOME: state, MCP_PROXY_RUN_DIR: join(state, 'run'), SOAK_REPORT: report }
  const program = await start([...OURS, 'serve', '--port', '0', '--config', file], urlIn, env)
  return { program, state, report }
}

const socketIn = folder =>
  existsSync(folder) ? readdirSync(folder).find(name => name.endsWith('.sock')) : undefined

/** Subscribes to the page's data on the private socket. */
const view = async state => {
  const folder = join(state, 'run')
  // The socket opens shortly after the port.
  while (socketIn(folder) === undefined) await pause(10)
  const socket = socketIn(folder)
  return new Promise((resolve, reject) => {
    const request = get({ socketPath: join(folder, socket), path: `/v1/events?view=${VIEWS}` }, response => {
      response.resume()
      resolve(() => request.destroy())
    })
    request.on('error', reject)
  })
}

/** Starts a proxy with or without a row's setting. */
export const watched = async (row, isWith) => {
  const { hasViewer, ...configurations } = ROWS[row]
  const { program, state } = await startProxy(isWith ? configurations.with : configurations.without)
  const leave = isWith && hasViewer ? await view(state) : () => {}
  return {
    transport: 'http',
    url: program.found,
    pid: program.pid,
    ending: () => program.ending,
    end() {
      leave()
      return program.end()
    },
  }
}

/** Returns heap and buffers in KiB after a full garbage collection. */
async function keptKiB({ program, report }) {
  process.kill(program.pid, 'SIGUSR2')
  for (;;) {
    await pause(SETTLE_MS)
    try {
      const { heapUsed, external, arrayBuffers } = JSON.parse(readFileSync(report, 'utf8'))
      return (heapUsed + external + arrayBuffers) / 1024
    } catch {
      // Not written yet.
    }
  }
}

export const WATCHED_WORK = { tool: 's0__make', size: 20, argument: 32, notices: 0 }

async function memoryOf(row, isWith, load) {
  const proxy = await startProxy(isWith ? ROWS[row].with : ROWS[row].without)
  const { found: url, pid } = proxy.program
  const name = `memory ${row} ${isWith}`
  await load.tell('open', { name, target: { transport: 'http', url, pid }, sessions: 1 })
  await pause(SETTLE_MS)
  const idle = [await keptKiB(proxy), residentKiB(pid)]
  await load.tell('run', { name, inFlight: 16, work: WATCHED_WORK, forMs: 60_000, maxCalls: CALLS })
  const loaded = [await keptKiB(proxy), residentKiB(pid)]
  await load.tell('close', { name })
  await proxy.program.end()
  return [...idle, ...loaded]
}

const FIGURES = [
  'heap and buffers when idle, garbage collected',
  'resident memory then',
  `heap and buffers after ${CALLS} calls, garbage collected`,
  'resident memory then',
]

/** Measures the memory of metrics and traces, and whether it grows with calls. */
export async function measureWatchedMemory({ load, say, report }) {
  for (const row of Object.keys(ROWS).filter(name => ROWS[name].hasViewer !== true)) {
    const [off, on] = [[], []]
    for (let n = 0; n < slices; n += 1) {
      off.push(await memoryOf(row, false, load))
      on.push(await memoryOf(row, true, load))
    }
    say(`observability: memory of ${row}`)
    for (const [at, figure] of FIGURES.entries()) {
      const [without, with_] = [off, on].map(all => median(all.map(values => values[at])))
      const told = [with_, without, with_ - without].map(kib => (kib / 1024).toFixed(2))
      say(`    ${figure.padEnd(60)} ${told[0]} MiB, without ${told[1]} MiB: + ${told[2]} MiB`)
      report.figures[`${row}: ${figure} ${at}`] = { unit: 'KiB', with: with_, without }
    }
  }
}
