import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Test } from 'tap'
import { CLIENTS, type ClientKind, openDoor, Wire } from './matrix-client.js'
import { type MatrixServer, SERVERS, type ServerKind, startServer } from './matrix-server.js'
import type { Loose } from './raw-client.js'

/** The revisions with a handshake, oldest first. */
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
const NEWEST = '2025-11-25'

/** A revision with a handshake. */
export type Revision = (typeof REVISIONS)[number]

/** One cell of the matrix: what carries the protocol on either side of the proxy, and the revision that is agreed there. */
export interface Pair {
  readonly client: ClientKind
  readonly clientRevision: Revision
  readonly server: ServerKind
  readonly serverRevision: Revision
}

/** The revision of the days of a transport. */
const revisionOf = (kind: ClientKind | ServerKind): Revision => (kind === 'sse' ? '2024-11-05' : NEWEST)

/** The pairs of transports that carry every revision; HTTP+SSE among them, because many still serve new ones over it. */
const SWEPT = [
  ['http', 'stdio'],
  ['stdio', 'http'],
  ['sse', 'sse'],
] as const satisfies [ClientKind, ServerKind][]

const pair = (
  client: ClientKind,
  server: ServerKind,
  clientRevision = revisionOf(client),
  serverRevision = revisionOf(server),
): Pair => ({ client, clientRevision, server, serverRevision })

/** Every transport of clients with every transport of servers. */
const TRANSPORT_PAIRS: readonly Pair[] = CLIENTS.flatMap(client =>
  SERVERS.map(server => pair(client, server)),
)

/** The same, and every revision on either side of some. */
const REVISION_PAIRS: readonly Pair[] = [
  ...TRANSPORT_PAIRS,
  ...SWEPT.flatMap(([client, server]) => [
    ...REVISIONS.map(revision => pair(client, server, revision, NEWEST)),
    ...REVISIONS.map(revision => pair(client, server, NEWEST, revision)),
  ]),
].filter((one, at, all) => all.findIndex(other => titleOf(other) === titleOf(one)) === at)

/** `http 2025-11-25 → stdio 2024-11-05`. */
function titleOf({ client, clientRevision, server, serverRevision }: Pair): string {
  return `${client} ${clientRevision} → ${server} ${serverRevision}`
}

/** The name under which the server stands in the configuration, and so the prefix of all that it has. */
export const ALIAS = 'm'
export const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
export const ROOTS = [{ uri: 'file:///here', name: 'here' }]
export const SAMPLED = {
  role: 'assistant',
  content: { type: 'text', text: 'a haiku' },
  model: 'test',
} as const
export const ELICITED = { action: 'accept', content: { city: 'Ulm' } } as const

/** A client that is connected to a server through the proxy. */
export interface Rig {
  readonly pair: Pair
  readonly client: Client
  readonly wire: Wire
  readonly server: MatrixServer
  /** What the client was asked, in order. */
  readonly asked: { readonly method: string; readonly params?: unknown }[]
  /** Sessions of the proxy, where they can be counted. */
  readonly sessions: () => number | undefined
  /** Whether the client's connection has ended. */
  readonly isClosed: () => boolean
  /** Calls a tool; the text of its first block. */
  call(tool: string, args?: object): Promise<string>
  /** Calls a tool that answers with JSON. */
  json(tool: string, args?: object): Promise<Loose>
}

/** Connects a client through a new proxy to a server, which gets the name `ALIAS`. */
export const connectClient = async (
  t: Test,
  kind: ClientKind,
  entry: object,
  revision: Revision = NEWEST,
): Promise<Omit<Rig, 'pair' | 'server'>> => {
  const { transport, sessions } = await openDoor(t, kind, { [ALIAS]: entry })
  const wire = new Wire(transport, revision)
  const client = new Client({ name: 'test', version: '1' }, { capabilities: CAPABILITIES })
  const asked: { method: string; params?: unknown }[] = []
  /** Keeps a question, and answers it. */
  const answer =
    <T>(result: T) =>
    ({ method, params }: { method: string; params?: unknown }): T => {
      asked.push(params === undefined ? { method } : { method, params })
      return result
    }
  client.setRequestHandler(CreateMessageRequestSchema, answer(SAMPLED))
  client.setRequestHandler(ElicitRequestSchema, answer(ELICITED))
  client.setRequestHandler(ListRootsRequestSchema, answer({ roots: ROOTS }))
  let isClosed = false
  client.onclose = () => {
    isClosed = true
  }
  t.teardown(async () => {
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession()
    await client.close()
  })
  await client.connect(transport)
  const call = async (tool: string, args: object = {}): Promise<string> => {
    const { content } = await client.callTool({ name: `${ALIAS}__${tool}`, arguments: { ...args } })
    return (content as { text: string }[])[0]?.text ?? ''
  }
  const json = async (tool: string, args?: object): Promise<unknown> => JSON.parse(await call(tool, args))
  return { client, wire, asked, sessions, isClosed: () => isClosed, call, json }
}

/** Something that must work whatever carries it. */
export interface Flow {
  /** A sentence about what an outsider sees. */
  readonly title: string
  /** Rejects if it does not work. */
  readonly run: (rig: Rig) => Promise<void>
}

/** What is known not to work, with the reason: it is run all the same, and must fail, so that a fix is noticed. */
export interface Known {
  readonly flow: string
  readonly in: (pair: Pair) => boolean
  readonly why: string
}

/** How flows are run. */
export interface MatrixOptions {
  /** Whether revisions can make a difference; without, each transport has the one of its days. */
  readonly isAboutRevisions?: boolean
  readonly known?: readonly Known[]
}

/** Far longer than any flow takes, on a slow machine too: what hangs is to fail by its name. */
const FLOW_MS = 60_000
/** For a machine that has much else to do. */
const FILE_MS = 480_000

/**
 * Runs flows in every pair, in this order and one after the other: they may build on each other. A server process serves all
 * pairs of its kind, each in a session of its own; except on stdio, where the proxy starts one per pair.
 */
export const runMatrix = (
  t: Test,
  flows: readonly Flow[],
  { isAboutRevisions = true, known = [] }: MatrixOptions = {},
): void => {
  t.setTimeout(FILE_MS)
  const servers = new Map<string, Promise<MatrixServer>>()
  const serverOf = ({ server, serverRevision }: Pair): Promise<MatrixServer> => {
    const key = `${server} ${serverRevision}`
    const started = servers.get(key) ?? startServer(t, server, serverRevision)
    servers.set(key, started)
    return started
  }
  for (const one of isAboutRevisions ? REVISION_PAIRS : TRANSPORT_PAIRS) {
    t.test(titleOf(one), async t => {
      const server = await serverOf(one)
      const connected = await connectClient(t, one.client, server.entry, one.clientRevision)
      const rig = { pair: one, server, ...connected }
      for (const { title, run } of flows) {
        const failure = known.find(({ flow, in: isIn }) => flow === title && isIn(one))
        const done = within(run(rig), FLOW_MS)
        if (failure === undefined) await t.resolves(done, title)
        else await t.rejects(done, `${title}: known to fail, ${failure.why}`)
      }
    })
  }
}

const within = async (work: Promise<void>, limitMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${limitMs} ms`)), limitMs)
  })
  try {
    await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
