import type { Test } from 'tap'
import type { Loose } from '../../support/client/raw-client.js'
import { type AnyClient, type CallOptions, connectTo } from '../../support/client/sdk-client.js'
import { CLIENTS, type ClientKind, MODERN_CLIENTS, type Wire } from '../../support/client/sdk-transports.js'
import { LEGACY, MODERN, NEWEST, type Revision } from '../../support/era/codec.js'
import { HopWatch } from '../../support/era/revision-watch.js'
import { openDoor } from '../../support/proxy/start.js'
import {
  type Hop,
  type MatrixServer,
  MODERN_SERVERS,
  SERVERS,
  type ServerKind,
  startServer,
} from '../../support/server/started-server.js'

/**
 * One cell of the matrix: what carries the protocol on either side of the proxy, and the revision that is
 * spoken there.
 */
export interface Pair {
  readonly client: ClientKind
  readonly clientRevision: Revision
  readonly server: ServerKind
  readonly serverRevision: Revision
}

/** The revision of the days of a transport. */
const revisionOf = (kind: ClientKind | ServerKind): Revision => (kind === 'sse' ? '2024-11-05' : NEWEST)

/**
 * The pairs of transports that carry every revision; HTTP+SSE among them, because many still serve new ones
 * over it.
 */
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

/** Every transport of clients with every transport of servers, before 2026-07-28. */
export const TRANSPORT_PAIRS: readonly Pair[] = CLIENTS.flatMap(client =>
  SERVERS.map(server => pair(client, server)),
)

/** Every revision on either side of some transports. */
export const REVISION_PAIRS: readonly Pair[] = SWEPT.flatMap(([client, server]) => [
  ...LEGACY.map(revision => pair(client, server, revision, NEWEST)),
  ...LEGACY.map(revision => pair(client, server, NEWEST, revision)),
])

/**
 * What one era has for clients with what one has for servers, so that everything on either side is there once
 * and the two that are
 * used most in every combination.
 */
const paired = (
  clients: readonly ClientKind[],
  servers: readonly ServerKind[],
): (readonly [ClientKind, ServerKind])[] => {
  const most = (['stdio', 'http'] as const).flatMap(client =>
    (['stdio', 'http'] as const).map(server => [client, server] as const),
  )
  const [others, far] = [clients, servers].map(kinds =>
    kinds.filter(kind => kind !== 'stdio' && kind !== 'http'),
  ) as [ClientKind[], ServerKind[]]
  const length = Math.max(others.length, far.length)
  const rest = Array.from(
    { length },
    (_, at) => [others[at] ?? 'http', far[(at + 1) % far.length] ?? 'stdio'] as const,
  )
  return [...most, ...rest]
}

/** Clients and servers of which at least one is of 2026-07-28. */
export const ERA_PAIRS: readonly Pair[] = [
  ...paired(CLIENTS, MODERN_SERVERS).map(([client, server]) => pair(client, server, undefined, MODERN)),
  ...paired(MODERN_CLIENTS, SERVERS).map(([client, server]) => pair(client, server, MODERN)),
  ...paired(MODERN_CLIENTS, MODERN_SERVERS).map(([client, server]) => pair(client, server, MODERN, MODERN)),
  pair('http', 'http', '2025-03-26', MODERN),
  pair('http', 'stdio', '2025-06-18', MODERN),
  pair('http', 'http', MODERN, '2025-06-18'),
]

/** `http 2025-11-25 → stdio 2024-11-05`. */
const titleOf = ({ client, clientRevision, server, serverRevision }: Pair): string =>
  `${client} ${clientRevision} → ${server} ${serverRevision}`

/** The name under which the server stands in the configuration, and so the prefix of all that it has. */
export const ALIAS = 'm'

/** A client that is connected to a server through the proxy. */
export interface Rig {
  readonly pair: Pair
  readonly client: AnyClient
  readonly wire: Wire
  readonly server: MatrixServer
  /** Tells what happens here from what happens in another pair at the same server. */
  readonly key: string
  /** What the client was asked, in order. */
  readonly asked: { readonly method: string; readonly params?: unknown }[]
  /** Sessions of the proxy, where they can be counted. */
  readonly sessions: () => number | undefined
  /** Whether the client's connection has ended. */
  readonly isClosed: () => boolean
  /** Calls a tool; the text of its first block. */
  call(tool: string, args?: object, options?: CallOptions): Promise<string>
  /** Calls a tool that answers with JSON. */
  json(tool: string, args?: object): Promise<Loose>
}

let rigs = 0

/** Connects a client through a new proxy to a server, which gets the name `ALIAS`. */
export const connectClient = async (
  t: Test,
  kind: ClientKind,
  entry: object,
  revision: Revision = NEWEST,
): Promise<Omit<Rig, 'pair' | 'server'>> => {
  const { address, sessions } = await openDoor(t, kind, { [ALIAS]: entry })
  const connected = await connectTo(t, address, kind, revision)
  const call = async (tool: string, args: object = {}, options: CallOptions = {}): Promise<string> => {
    const { content } = await connected.client.callTool(`${ALIAS}__${tool}`, args, options)
    return (content as { text: string }[])[0]?.text ?? ''
  }
  const json = async (tool: string, args?: object): Promise<unknown> => JSON.parse(await call(tool, args))
  rigs += 1
  return { ...connected, sessions, key: `${kind} ${rigs}`, call, json }
}

/** Something that must work whatever carries it. */
export interface Flow {
  /** A sentence about what an outsider sees. */
  readonly title: string
  /** Rejects if it does not work. */
  readonly run: (rig: Rig) => Promise<void>
}

/** Far longer than any flow takes: what hangs is to fail by itself. */
const FLOW_MS = 60_000
/** For a machine that has much else to do. */
const FILE_MS = 600_000

/**
 * Runs flows in every pair, in this order and one after the other: they may build on each other. A server
 * process serves all
 * pairs of its kind, each in a session of its own; except on stdio, where the proxy starts one per pair.
 */
export const runMatrix = (t: Test, flows: readonly Flow[], pairs: readonly Pair[]): void => {
  t.setTimeout(FILE_MS)
  const servers = new Map<string, Promise<MatrixServer>>()
  const serverOf = ({ server, serverRevision }: Pair): Promise<MatrixServer> => {
    const key = `${server} ${serverRevision}`
    const started = servers.get(key) ?? startServer(t, server, serverRevision)
    servers.set(key, started)
    return started
  }
  const titles = pairs.map(titleOf)
  for (const one of pairs.filter((each, at) => titles.indexOf(titleOf(each)) === at)) {
    t.test(titleOf(one), async t => {
      const server = await serverOf(one)
      server.hops()
      const connected = await connectClient(t, one.client, server.entry, one.clientRevision)
      const rig = { pair: one, server, ...connected }
      for (const { title, run } of flows) await t.resolves(within(run(rig), FLOW_MS), title)
      const hops = server.hops()
      if (one.serverRevision === MODERN)
        t.equal(
          hops.find(({ from }) => from === 'proxy')?.message.method,
          'server/discover',
          'it is asked first',
        )
      t.same(rig.wire.watch.problems, [], 'whatever the client heard is of its revision')
      t.same(problemsAt(hops), [], 'whatever the server heard is of its revision')
      t.same(strangersIn(rig.wire, hops), [], 'ids, tokens, cursors and states stay on their hop')
    })
  }
}

/** What was wrong in what the proxy said to a server. */
const problemsAt = (hops: readonly Hop[]): readonly string[] => {
  const watches = new Map<string, HopWatch>()
  for (const { on, from, message } of hops) {
    const watch = watches.get(on) ?? new HopWatch()
    watches.set(on, watch)
    if (from === 'proxy') watch.proxySays(message)
    else watch.peerSays(message)
  }
  return [...watches.values()].flatMap(({ problems }) => problems)
}

/**
 * Ids, tokens, cursors, session ids and states that turned up on the other hop (2025-11-25, basic/lifecycle:
 * each is negotiated alone).
 */
const strangersIn = (wire: Wire, hops: readonly Hop[]): readonly string[] => {
  const above = JSON.stringify(wire.heard)
  const below = JSON.stringify(hops.filter(({ from }) => from === 'proxy'))
  return [
    ...(above.match(/server-(cursor|state|session|id)-[\w-]*/g) ?? []),
    ...(below.match(/client-(number|string)-[\w-]*/g) ?? []),
    ...wire.minted.filter(text => below.includes(JSON.stringify(text))),
  ]
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
