// The measured targets by name and transport: the floor, our proxy, and peers.
import { fileURLToPath } from 'node:url'
import { CREDENTIALS, startIssuer } from './credentials.js'
import { PEERS } from './peers.js'
import { start, writeTemporary } from './programs.js'
import { replicas } from './replicas.js'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const NODE = process.execPath
const SERVER = [NODE, here('servers/stdio.js')]
const OURS = [NODE, here('../bin/mcp-proxy.js')]

/** Returns the server of a workload; by default, one with a handshake. */
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
/** Returns the remote server shared by all targets. */
const remoteUrl = async () => {
  remote ??= start([NODE, here('servers/http.js')], urlIn)
  return (await remote).found
}

/** Starts this number of remote servers, each on its own port. */
const remoteUrls = async count => {
  const first = await remoteUrl()
  const rest = await Promise.all(
    Array.from({ length: count - 1 }, () => start([NODE, here('servers/http.js')], urlIn)),
  )
  return [first, ...rest.map(({ found }) => found)]
}

/** Started by the load generator: a proxy on stdio belongs to its client. */
const stdioTarget = (command, env = {}) => ({
  transport: 'stdio',
  command,
  env,
  pid: undefined,
  ending: () => undefined,
  end: () => undefined,
})

const configurationOf = (entries, rest) =>
  writeTemporary({ mcpServers: Object.fromEntries(entries.map((entry, i) => [`s${i}`, entry])), ...rest })

const configuration = (servers, tools, rest) => {
  const entry = { command: SERVER[0], args: SERVER.slice(1), env: { BENCH_TOOLS: String(tools) } }
  return configurationOf(Array(servers).fill(entry), rest)
}

/** Raises limits that would reject a crowd of idle sessions. */
const ROOM = {
  sessions: 1_000_000,
  sessionsPerPrincipal: 1_000_000,
  connections: 1_000_000,
  keepAliveTime: '10m',
}

const floor = {
  // The baseline for `auth`: the same proxy without it.
  auth: () => authorized('none'),
  'auth at a server': () => signedIn(false),
  'across eras': ({ client }) => ours.http({ server: client === undefined ? undefined : 'modern' }),
  cluster: () => serving(configuration(1, 1)),
  crowd: () => listening('http', [NODE, here('floor/http.js'), ...SERVER]),
  http: kind => listening('http', [NODE, here('floor/http.js'), ...serverOf(kind)]),
  sse: () => listening('sse', [NODE, here('floor/sse.js'), ...SERVER]),
  ws: () => listening('ws', [NODE, here('floor/ws.js'), ...SERVER]),
  stdio: async () => stdioTarget([NODE, here('floor/stdio.js'), await remoteUrl()]),
  many({ servers, pages, tools }) {
    const file = pages === undefined ? '-' : writeTemporary(pages)
    const command = [NODE, here('floor/many.js'), file, String(servers), ...SERVER]
    return listening('http', command, { BENCH_TOOLS: String(tools) })
  },
  'many remote': async ({ servers }) =>
    listening('http', [NODE, here('floor/many.js'), '-', ...(await remoteUrls(servers))]),
}

/** Keeps its cache of server data in `stateFolder`. */
const bridge = to => kind =>
  listening(to, [...OURS, 'bridge', '--to', to, '--port', '0', '--', ...serverOf(kind)], stateIn(kind))

const stateIn = ({ stateFolder }) => (stateFolder === undefined ? {} : { XDG_STATE_HOME: stateFolder })

const serving = (file, kind = {}) =>
  listening('http', [...OURS, 'serve', '--port', '0', '--config', file], stateIn(kind))

/** Starts our proxy with one server, and clients with or without a credential. */
const authorized = async credential => {
  const { auth, token } = await CREDENTIALS[credential]()
  return { ...(await serving(configuration(1, 1, { auth }))), token }
}

/** Starts our proxy for a remote server, with or without a login. */
const signedIn = async hasLogin => {
  const issuer = hasLogin ? await startIssuer() : undefined
  const server = await start([NODE, here('servers/http.js'), ...(hasLogin ? [issuer] : [])], urlIn)
  const oauth = hasLogin && { grant: 'client_credentials', clientId: 'bench', clientSecret: 'bench' }
  const proxy = await serving(configurationOf([{ url: server.found, oauth }]))
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
  'across eras': ({ client }) => ours.http({ server: client === undefined ? 'modern' : undefined }),
  cluster: ({ apart }) =>
    replicas(apart === 'owner' ? 1 : 2, cluster => serving(configuration(1, 1, cluster))),
  crowd: () => serving(configuration(1, 1, { limits: ROOM })),
  stdio: async kind => stdioTarget([...OURS, 'bridge', '--to', 'stdio', await remoteUrl()], stateIn(kind)),
  auth: ({ credential }) => authorized(credential),
  'auth at a server': () => signedIn(true),
  many: kind => serving(configuration(kind.servers, kind.tools), kind),
  'many remote': async ({ servers }) =>
    serving(configurationOf((await remoteUrls(servers)).map(url => ({ url })))),
}

/** All targets. */
export const TARGETS = { floor, ours, ...PEERS }
export const isPeer = name => name in PEERS
