// What is measured, by name and by the way in: the floor, ours, and peers.
import { fileURLToPath } from 'node:url'
import { PEERS } from './peers.js'
import { start, writeTemporary } from './programs.js'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const NODE = process.execPath
const SERVER = [NODE, here('servers/stdio.js')]
const OURS = [NODE, here('../bin/mcp-proxy.js')]

/** The server of a workload: without `server` one of the revisions with a handshake. */
const serverOf = ({ server }) => (server === undefined ? SERVER : [...SERVER, server])

const urlIn = line => /(?:http|ws):\/\/\S+\/(?:mcp|sse|ws)\b/.exec(line)?.[0]

const listening = async (transport, command, env) => {
  const program = await start(command, urlIn, env)
  return {
    transport,
    url: program.found,
    pid: program.pid,
    ending: () => program.ending,
    end: () => program.end(),
  }
}

let remote
/** One remote server for all that are to be in front of one. */
const remoteUrl = async () => {
  remote ??= start([NODE, here('servers/http.js')], urlIn)
  return (await remote).found
}

/** The load generator starts it: a proxy on stdio belongs to its client. */
const stdioTarget = command => ({
  transport: 'stdio',
  command,
  pid: undefined,
  ending: () => undefined,
  end: () => undefined,
})

const configuration = (servers, tools) => {
  const entry = { command: SERVER[0], args: SERVER.slice(1), env: { BENCH_TOOLS: String(tools) } }
  const mcpServers = Object.fromEntries(Array.from({ length: servers }, (_, i) => [`s${i}`, entry]))
  return writeTemporary({ mcpServers })
}

const floor = {
  http: kind => listening('http', [NODE, here('floor/http.js'), ...serverOf(kind)]),
  sse: () => listening('sse', [NODE, here('floor/sse.js'), ...SERVER]),
  ws: () => listening('ws', [NODE, here('floor/ws.js'), ...SERVER]),
  stdio: async () => stdioTarget([NODE, here('floor/stdio.js'), await remoteUrl()]),
  many({ servers, pages }) {
    const file = pages === undefined ? '-' : writeTemporary(pages)
    return listening('http', [NODE, here('floor/many.js'), file, String(servers), ...SERVER])
  },
}

/** What it knows of its server from an earlier run is in `stateFolder`. */
const bridge = to => kind =>
  listening(
    to,
    [...OURS, 'bridge', '--to', to, '--port', '0', '--', ...serverOf(kind)],
    kind.stateFolder === undefined ? {} : { XDG_STATE_HOME: kind.stateFolder },
  )

const ours = {
  http: bridge('http'),
  sse: bridge('sse'),
  ws: bridge('ws'),
  stdio: async () => stdioTarget([...OURS, 'bridge', '--to', 'stdio', await remoteUrl()]),
  many: ({ servers, tools }) =>
    listening('http', [...OURS, 'serve', '--port', '0', '--config', configuration(servers, tools)]),
}

/** All that can be compared. */
export const TARGETS = { floor, ours, ...PEERS }
export const isPeer = name => name in PEERS
