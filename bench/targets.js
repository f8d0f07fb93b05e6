// How the proxies under test are started: the floor, ours, and peers from npm.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const NODE = process.execPath
const SERVER = [NODE, here('servers/stdio.js')]
const OURS = [NODE, here('../bin/mcp-proxy.js')]
const START_LIMIT_MS = 30_000

const temporary = mkdtempSync(join(tmpdir(), 'mcp-proxy-bench-'))
const running = new Set()

/** Ends all that was started. */
export const endAll = () => {
  for (const child of running) child.kill()
  rmSync(temporary, { recursive: true, force: true })
}

/** Starts a program; resolves with what `isReady` makes of a line that it writes. */
const start = (command, isReady, env = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    running.add(child)
    const limit = setTimeout(() => reject(new Error(`${command.join(' ')} did not start`)), START_LIMIT_MS)
    const said = []
    const onLine = line => {
      said.push(line)
      const found = isReady(line)
      if (found === undefined) return
      clearTimeout(limit)
      resolve({ child, found })
    }
    createInterface({ input: child.stdout }).on('line', onLine)
    createInterface({ input: child.stderr }).on('line', onLine)
    child.on('exit', code => {
      running.delete(child)
      clearTimeout(limit)
      reject(new Error(`${command.join(' ')} ended with ${code}: ${said.slice(-3).join(' | ')}`))
    })
  })

const urlIn = line => /(?:http|ws):\/\/\S+\/(?:mcp|sse|ws)\b/.exec(line)?.[0]

const listening = async (transport, command, env) => {
  const { child, found } = await start(command, urlIn, env)
  return { transport, url: found, pid: child.pid, end: () => child.kill() }
}

const freePort = () =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

let remote
/** One remote server for all that are to be in front of one. */
const remoteUrl = async () => {
  remote ??= start([NODE, here('servers/http.js')], urlIn)
  return (await remote).found
}

const stdioTarget = command => ({ transport: 'stdio', command, pid: undefined, end: () => undefined })

const writeTemporary = (name, value) => {
  const file = join(temporary, name)
  writeFileSync(file, JSON.stringify(value))
  return file
}

const configuration = (servers, tools) => {
  const entry = { command: SERVER[0], args: SERVER.slice(1), env: { BENCH_TOOLS: String(tools) } }
  const mcpServers = Object.fromEntries(Array.from({ length: servers }, (_, i) => [`s${i}`, entry]))
  return writeTemporary(`${servers}x${tools}.json`, { mcpServers })
}

const floor = {
  http: () => listening('http', [NODE, here('floor/http.js'), ...SERVER]),
  sse: () => listening('sse', [NODE, here('floor/sse.js'), ...SERVER]),
  ws: () => listening('ws', [NODE, here('floor/ws.js'), ...SERVER]),
  stdio: async () => stdioTarget([NODE, here('floor/stdio.js'), await remoteUrl()]),
  many({ servers, pages }) {
    const file = pages === undefined ? '-' : writeTemporary('pages.json', pages)
    return listening('http', [NODE, here('floor/many.js'), file, String(servers), ...SERVER])
  },
}

const bridge = to => () => listening(to, [...OURS, 'bridge', '--to', to, '--port', '0', '--', ...SERVER])

const ours = {
  http: bridge('http'),
  sse: bridge('sse'),
  ws: bridge('ws'),
  stdio: async () => stdioTarget([...OURS, 'bridge', '--to', 'stdio', await remoteUrl()]),
  many: ({ servers, tools }) =>
    listening('http', [...OURS, 'serve', '--port', '0', '--config', configuration(servers, tools)]),
}

const peer = (file, argsOf, isReady) => ({
  async http() {
    const port = await freePort()
    const { child } = await start([NODE, here(`node_modules/${file}`), ...argsOf(port)], isReady)
    return { transport: 'http', url: `http://127.0.0.1:${port}/mcp`, pid: child.pid, end: () => child.kill() }
  },
})

/** Proxies that others wrote, over Streamable HTTP. */
const PEERS = {
  'mcp-proxy': peer(
    'mcp-proxy/dist/bin/mcp-proxy.mjs',
    port => ['--host', '127.0.0.1', '--port', String(port), '--', ...SERVER],
    line => (/starting server/i.test(line) ? true : undefined),
  ),
  supergateway: peer(
    'supergateway/dist/index.js',
    port => [
      '--stdio',
      SERVER.join(' '),
      '--outputTransport',
      'streamableHttp',
      '--stateful',
      '--port',
      String(port),
    ],
    line => (/listening/i.test(line) ? true : undefined),
  ),
}

/** All that can be compared: by name, and then by the way in. */
export const TARGETS = { floor, ours, ...PEERS }
export const PEER_NAMES = Object.keys(PEERS)
export const arePeersInstalled = () => existsSync(here('node_modules/supergateway'))
export const benchFolder = here('.')
