import { z } from 'zod'
import { LIMIT_NAMES, LIMIT_TABLE, type LimitName, shownLimit } from '../../kernel/limits.js'
import { objectFix } from './values.js'

/** The scope of each limit, and the effect of reaching it; for the schema and docs/limits.md. */
const TEXTS: Readonly<Record<LimitName, readonly [bounds: string, reached: string]>> = {
  memory: [
    'Memory of the process; the memory of the machine or container, if that is less.',
    'four steps, see [Memory](#memory)',
  ],
  message: [
    'Size of a message from a server: a line, an SSE event, the body of a response, a WebSocket message; decoded, if it is compressed.',
    'skipped. Its call fails (reason `too-large`), or every call on that connection if its id is unknown. A WebSocket is closed (1009). A process that sends three in a minute, or an endless one, is restarted. An event stream is abandoned at twice the limit',
  ],
  body: [
    'Size of a message from a client: the body of a POST, a line, a WebSocket message.',
    '413, and the connection is closed. A line is skipped, and answered with an error if its id is in its first or last KiB. A WebSocket is closed (1009)',
  ],
  depth: ['Levels of arrays and objects in a message.', 'malformed: -32700, HTTP 400'],
  members: [
    'Members and elements of all objects and arrays of a message together.',
    'malformed: -32700, HTTP 400; a call with such an answer fails (reason `too-large`)',
  ],
  batch: [
    'Messages in a batch (2025-03-26 only).',
    'the batch is refused; a batch from a server is dropped and logged',
  ],
  headers: ['Size of the headers of an HTTP request.', '431'],
  headerLines: ['Number of headers of an HTTP request.', '431'],
  connections: [
    'Connections over HTTP and WebSocket together, and separately those to a socket; over HTTP at most the limit of open files less 512.',
    'closed on arrival; over HTTP, from seven eighths on, the oldest idle connection of a source makes room for its next one',
  ],
  headersTime: ['Time for the headers of an HTTP request.', '408'],
  requestTime: ['Time for a whole HTTP request, headers and body.', '408'],
  keepAliveTime: ['Time that an HTTP connection stays open without a request.', 'closed'],
  sessions: [
    'Sessions over Streamable HTTP, and as many over HTTP+SSE.',
    'a session whose client was away for 5 min, or requested nothing in its first 10 s, makes room; otherwise 503 with `Retry-After: 5`',
  ],
  sessionsPerPrincipal: [
    'Sessions of one principal: a user, an address, or all clients on this machine.',
    'as for `sessions`, among the sessions of that principal',
  ],
  sessionIdle: [
    'Time that a session lives without a request in flight and without an open stream for notifications.',
    'ended; it starts again with the next request of its client, unless its id was too long to be sealed',
  ],
  streamsPerSession: ['Open event streams of one session.', '429'],
  inbound: [
    'Data from all peers together that is incomplete or not yet processed; at most a quarter of the memory.',
    'the largest messages are cut off first; over HTTP 503 with `Retry-After`',
  ],
  authFailures: [
    'Refused credentials of one address per minute.',
    'further bad ones get 429 with `Retry-After`, without a request to an issuer; good ones pass, tokens of issuers if their keys are known',
  ],
  tokenChecks: [
    'Tokens whose issuer is being asked at the same time; one address may cause a quarter of them.',
    '503 with `Retry-After`',
  ],
  clients: [
    'Clients without a session (2026-07-28) that are known at an endpoint.',
    'the client idle for longest is forgotten; if none is idle, the request is refused',
  ],
  calls: ['Requests in flight in total.', 'refused; over HTTP 429 with `Retry-After`'],
  callsPerClient: [
    'Requests in flight in one session or on one channel.',
    'refused; over HTTP 429 with `Retry-After`',
  ],
  callsPerStatelessClient: [
    'Requests in flight over HTTP from clients of 2026-07-28 that describe themselves identically.',
    '429 with `Retry-After`',
  ],
  callsPerServer: [
    'Client requests in flight on one connection to a server.',
    'refused; the error names the server',
  ],
  clientQueue: [
    'Data waiting for a client on a channel (stdio, socket, WebSocket, HTTP+SSE) that reads nothing for the stall limit.',
    'the client is cut off (WebSocket: 1013; `stdio` exits with 4)',
  ],
  streamQueue: [
    'Data waiting on one event stream for a client that does not read.',
    'the connection is cut: a session can resume, a request of 2026-07-28 is cancelled',
  ],
  softQueue: [
    'Data waiting for a client before the proxy sends it less.',
    'progress and log messages are left out until the client has caught up. Nothing more is read from a channel (with Node 22 and later above 64 KiB)',
  ],
  unread: [
    'Data waiting for all clients that do not read, over HTTP, sockets and WebSocket; at most a quarter of the memory.',
    'the clients with the most data waiting are cut off',
  ],
  serverQueue: [
    'Data waiting for a server that has read nothing for 2 s; eight times as much for a server that reads.',
    'new requests are refused; at sixteen times as much, a process is restarted',
  ],
  stall: [
    'Time in which a client or process reads nothing of the data waiting for it; proportionally longer for more than 4 MiB.',
    'a client is cut off; a process is given up (`did not read its input`) and restarted',
  ],
  loginFlows: [
    'Sign-ins in progress at the embedded authorization server, and as many links to sign-in pages of servers.',
    'links that were never opened make room first, then the oldest of the client and network, or of the user, with the most',
  ],
  registrations: [
    'Clients registered at the embedded authorization server.',
    'clients without a grant make room, new ones after 10 min; otherwise 503 with `Retry-After`',
  ],
  replayEvents: [
    'Events that a session keeps for a client that lost its connection.',
    'the oldest are dropped; resuming after a gap is refused with 400',
  ],
  replayBytes: ['Bytes of these events; the newest is always kept.', 'the oldest are dropped'],
  replayTotal: [
    'Bytes of these events in all sessions together.',
    'the session that was sent nothing for longest drops all its events',
  ],
  replayAge: ['Age of these events.', 'the oldest are dropped'],
  parks: [
    'Calls on one connection that wait for answers from clients of 2026-07-28.',
    'the call whose client was asked longest ago, at least 30 s, is cancelled; otherwise the server’s question is refused',
  ],
  parksPerPrincipal: [
    'Calls of one principal that wait for answers from clients of 2026-07-28.',
    'as for `parks`',
  ],
  questionsPerServer: ['Questions on one connection to a server that wait for an answer.', 'as for `parks`'],
  questionsPerClient: ['Questions that one client has yet to answer.', 'refused: an error to the server'],
  questionTime: [
    'Time to answer a question that belongs to no call.',
    'the question is cancelled at the client, and the server gets an error',
  ],
  subscriptions: ['Resources that one client is subscribed to.', 'refused'],
  listens: ['Requests of one principal that listen for changes (2026-07-28).', 'refused'],
  rateBuckets: [
    'Rates of rules that are counted at the same time: one for each rule, person, server or tool.',
    'rates that allow their whole burst again are forgotten first; otherwise the call is refused',
  ],
  approvals: [
    'Approvals of calls that are kept, until they expire; their arguments take at most half of `unread`.',
    'used, declined and expired ones are dropped first; otherwise the call is refused',
  ],
  approvalsPerPrincipal: [
    'Approvals of calls of one principal that wait for an answer or for their call.',
    'the call is refused',
  ],
  principalsPerServer: [
    'Principals served at the same time by a server with `"credentials": "per-principal"`.',
    'the principal without connections that was idle for longest makes room; otherwise the server is not shown to the new one',
  ],
  connectionsPerServer: [
    'Connections to one remote server (`sharing: "session"`).',
    'the connection idle for longest is closed, unless its client has subscribed to a resource; otherwise an error that names the server',
  ],
  childrenPerServer: ['Processes of one server (`sharing: "session"`).', 'as for `connectionsPerServer`'],
  children: [
    'Processes of all servers together.',
    'the process idle for longest is stopped; otherwise the server is not started: an error names it, and the proxy tries again later',
  ],
  starting: [
    'Server processes that start at the same time; a process that takes longer than 10 s no longer counts.',
    'the others wait for their turn',
  ],
  logLines: [
    'Lines of a process’s stderr that are logged per second.',
    'the others are counted, and the count is logged',
  ],
  items: [
    'Items in each list of a server; blocks, messages or contents of a result that have to be checked one by one.',
    'the rest is left out and logged, and `truncated` in the status names the list; a call with such a result fails (reason `too-large`)',
  ],
  pages: ['Pages of a list of a server.', 'as for `items`'],
  listBytes: ['Bytes of all items in a list of a server, with separators and cursors.', 'as for `items`'],
}

const SERVER_LIMITS = [
  'message',
  'members',
  'callsPerServer',
  'serverQueue',
  'stall',
  'parks',
  'questionsPerServer',
  'connectionsPerServer',
  'childrenPerServer',
  'logLines',
  'items',
  'pages',
  'listBytes',
] as const satisfies readonly LimitName[]

/** The forms of each kind of limit in a file. */
const KINDS = {
  count: { form: undefined, what: 'a whole number', example: '100' },
  bytes: {
    form: /^\d+(\.\d+)?\s?(B|KiB|MiB|GiB|kB|KB|MB|GB)$/,
    what: 'a number of bytes, or a text with a unit',
    example: '"16MiB"',
  },
  time: { form: /^\d+(\.\d+)?(ms|s|m|h)$/, what: 'a duration', example: '"30s"' },
} as const

// `read/quantity.ts` converts units and checks the range.
const valueOf = (name: LimitName) => {
  const { kind, least, most } = LIMIT_TABLE[name]
  const { form, what, example } = KINDS[kind]
  const range = `from ${shownLimit(name, least)} to ${shownLimit(name, most)}`
  const error = `Write ${what}, such as ${example}, ${range}.`
  const number = z.number({ error }).positive({ error })
  const value =
    form === undefined
      ? number.int({ error })
      : z.union([number, z.string({ error }).regex(form, { error })], { error })
  return value.optional().meta({
    description: TEXTS[name][0],
    reached: TEXTS[name][1],
    default: form === undefined ? LIMIT_TABLE[name].fallback : shownLimit(name, LIMIT_TABLE[name].fallback),
  })
}

const objectOf = <N extends LimitName>(names: readonly N[], example: string) =>
  z.object(
    Object.fromEntries(names.map(name => [name, valueOf(name)])) as Record<N, ReturnType<typeof valueOf>>,
    objectFix(example),
  )

export const limits = objectOf(LIMIT_NAMES, '{ "callsPerClient": 64 }')

export const serverLimits = objectOf(SERVER_LIMITS, '{ "message": "16MiB" }')
