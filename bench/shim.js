// Measures `mcp-proxy connect`: its start time compared with Node's, its memory, its latency per call, and a
// client's wait for the first list if the daemon must be started too.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { residentKiB } from './load/processes.js'
import { freshFolder } from './programs.js'
import { median, show } from './report.js'

const SHIM = fileURLToPath(new URL('../bin/connect.cjs', import.meta.url))
const MAIN = fileURLToPath(new URL('../bin/mcp-proxy.js', import.meta.url))
const SERVER = fileURLToPath(new URL('servers/stdio.js', import.meta.url))
/** Limits; start time passes with either its absolute or its relative limit. */
const LIMITS = { ratio: 1.4, startMs: 110, memoryMiB: 45, callMs: 0.15, coldMs: 900, coldRatio: 11.5 }
const STARTS = 15
const COLD_STARTS = 5
/** Calls per batch, with and without the shim, after equal warm-up batches. */
const CALLS = 40
const PAIRS = 60
const WARM_PAIRS = 15
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
}

/** A client on a stream of lines that makes sequential requests. */
class Lines {
  #input
  #rest = ''
  #answered = () => {}
  #last = 0

  constructor(output, input) {
    this.#input = input
    output.on('data', chunk => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop()
      for (const line of lines) if (JSON.parse(line).id === this.#last) this.#answered()
    })
  }

  ask(method, params) {
    this.#last += 1
    this.#input.write(`${JSON.stringify({ jsonrpc: '2.0', id: this.#last, method, params })}\n`)
    return new Promise(resolve => {
      this.#answered = resolve
    })
  }

  /** Returns the median time of a call, in milliseconds. */
  async callMs() {
    const times = []
    for (let made = 0; made < CALLS; made++) {
      const began = performance.now()
      await this.ask('ping')
      times.push(performance.now() - began)
    }
    return median(times)
  }
}

const startShim = (config, env) => {
  const child = spawn(process.execPath, [SHIM, '--config', config], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  return { child, lines: new Lines(child.stdout, child.stdin), ended: once(child, 'exit') }
}

/** Connects to the daemon without a shim. */
const openDirectly = async socketPath => {
  const socket = connect(socketPath)
  const hello = Buffer.from(JSON.stringify({ version: '0.0.0', pid: process.pid })).toString('base64url')
  const head = ['GET /v1/connect HTTP/1.1', 'host: localhost', 'connection: upgrade', 'upgrade: mcp-lines']
  socket.write(`${[...head, `mcp-proxy-hello: ${hello}`].join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  return { socket, lines: new Lines(socket, socket) }
}

const msOf = async act => {
  const began = performance.now()
  await act()
  return performance.now() - began
}

/** Returns the socket of the only daemon in a folder. */
const socketIn = ({ MCP_PROXY_RUN_DIR: run }) =>
  join(
    run,
    readdirSync(run).find(name => name.endsWith('.sock')),
  )

/** Alternates measurements, so that machine noise affects both. */
export const measureShim = async ({ say, report }) => {
  const folder = freshFolder()
  const config = join(folder, 'mcp.json')
  writeFileSync(config, JSON.stringify({ mcpServers: { s: { command: process.execPath, args: [SERVER] } } }))
  const env = {
    ...process.env,
    MCP_PROXY_RUN_DIR: join(folder, 'run'),
    XDG_STATE_HOME: join(folder, 'state'),
  }
  const first = startShim(config, env)
  await first.lines.ask('initialize', HELLO)
  await first.lines.ask('tools/list', {})
  const found = { node: [], start: [], memory: [], direct: [], call: [], added: [], cold: [] }
  for (let at = 0; at < STARTS; at++) {
    found.node.push(await nodeMs())
    let shim
    found.start.push(
      await msOf(() => {
        shim = startShim(config, env)
        return shim.lines.ask('initialize', HELLO)
      }),
    )
    found.memory.push(residentKiB(shim.child.pid) / 1024)
    shim.child.stdin.end()
    await shim.ended
  }
  const { socket, lines } = await openDirectly(socketIn(env))
  await lines.ask('initialize', HELLO)
  for (let at = -WARM_PAIRS; at < PAIRS; at++) {
    const [direct, call] = [await lines.callMs(), await first.lines.callMs()]
    if (at < 0) continue
    found.direct.push(direct)
    found.call.push(call)
    found.added.push(call - direct)
  }
  socket.destroy()
  first.child.stdin.end()
  await first.ended
  await stopDaemon(config, env)
  for (let at = 0; at < COLD_STARTS; at++) {
    found.node.push(await nodeMs())
    found.cold.push(await coldListMs(config, env))
    await stopDaemon(config, env)
  }
  const figures = Object.fromEntries(Object.entries(found).map(([name, values]) => [name, median(values)]))
  report.figures.shim = figures
  tell(say, figures)
}

const nodeMs = () => msOf(() => once(spawn(process.execPath, ['-e', '0']), 'exit'))

/** Returns the time from a client's start without a daemon to its first list, with a cached server. */
const coldListMs = async (config, env) => {
  let shim
  const ms = await msOf(async () => {
    shim = startShim(config, env)
    await shim.lines.ask('initialize', HELLO)
    await shim.lines.ask('tools/list', {})
  })
  shim.child.stdin.end()
  await shim.ended
  return ms
}

const stopDaemon = (config, env) =>
  once(spawn(process.execPath, [MAIN, 'daemon', 'stop', '--config', config], { env }), 'exit')

const tell = (say, { node, start, memory, direct, call, added, cold }) => {
  const mark = isWithin => (isWithin ? '✓' : '✗')
  const ratio = start / node
  const isFast = ratio <= LIMITS.ratio || start < LIMITS.startMs
  const limits = `≤ ${LIMITS.ratio} or < ${LIMITS.startMs} ms ${mark(isFast)}`
  say('shim')
  say(`    start to the first answer: ${show(start)} ms, ${show(ratio)} × node -e 0 (${limits})`)
  say(`    memory: ${show(memory)} MiB (< ${LIMITS.memoryMiB} ${mark(memory < LIMITS.memoryMiB)})`)
  const parts = `${show(call)} ms, directly ${show(direct)} ms`
  say(`    a call: ${parts}: + ${show(added)} ms (≤ ${LIMITS.callMs} ${mark(added <= LIMITS.callMs)})`)
  const slower = cold / node
  const isWarm = cold < LIMITS.coldMs || slower <= LIMITS.coldRatio
  const most = `≤ ${LIMITS.coldRatio} or < ${LIMITS.coldMs} ms ${mark(isWarm)}`
  say(`    first list through a cold daemon: ${show(cold)} ms, ${show(slower)} × node -e 0 (${most})`)
}
