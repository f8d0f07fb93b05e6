// What is measured, by name and by the way in: the floor, ours, and peers.
import { fileURLToPath } from 'node:url'
import { CREDENTIALS, startIssuer } from './credentials.js'
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

const configuration = (servers, tools, auth) => {
  const entry = { command: SERVER[0], args: SERVER.slice(1), env: { BENCH_TOOLS: String(tools) } }
  const mcpServers = Object.fromEntries(Array.from({ length: servers }, (_, i) => [`s${i}`, entry]))
  return writeTemporary({ mcpServers, auth })
}

const floor = {
  // What `auth` costs is told by the same proxy without it.
  auth: () => authorized('none'),
  'auth at a server': () => signedIn(false),
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

/** One server and clients with a credential, or without. */
const authorized = async credential => {
  const { auth, token } = await CREDENTIALS[credential]()
  const command = [...OURS, 'serve', '--port', '0', '--config', configuration(1, 1, auth)]
  return { ...(await listening('http', command)), token }
}

/** In front of a remote server, at which it has to sign in, or not. */
const signedIn = async hasLogin => {
  const issuer = hasLogin ? await startIssuer() : undefined
  const server = await start([NODE, here('servers/http.js'), ...(hasLogin ? [issuer] : [])], urlIn)
  const oauth = hasLogin && { grant: 'client_credentials', clientId: 'bench', clientSecret: 'bench' }
  const file = writeTemporary({ mcpServers: { s0: { url: server.found, oauth } } })
  const proxy = await listening('http', [...OURS, 'serve', '--port', '0', '--config', file])
  const end = async () => {
    await proxy.end()
    await server.end()
  }
  return { ...proxy, end }
}

const ours = {
  http: bridge('http'),
  sse: bridge('sse'),
  ws: bridge('ws'),
  stdio: async () => stdioTarget([...OURS, 'bridge', '--to', 'stdio', await remoteUrl()]),
  auth: ({ credential }) => authorized(credential),
  'auth at a server': () => signedIn(true),
  many: ({ servers, tools }) =>
    listening('http', [...OURS, 'serve', '--port', '0', '--config', configuration(servers, tools)]),
}

/** All that can be compared. */
export const TARGETS = { floor, ours, ...PEERS }
export const isPeer = name => name in PEERS
