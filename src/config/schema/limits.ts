import { z } from 'zod'
import { LIMIT_NAMES, LIMIT_TABLE, type LimitName, shownLimit } from '../../kernel/limits.js'
import { objectMend } from './values.js'

const DESCRIPTIONS: Readonly<Record<LimitName, string>> = {
  memory:
    'How much memory the process may take; what the machine or the container has, if that is less. New work is refused shortly before.',
  message: 'Longest message of a server: a line, an event, or the body of an answer.',
  body: 'Longest message of a client: the body of a POST, a line, or a WebSocket message.',
  depth: 'How many arrays and objects may be inside each other in a message.',
  members: 'How many members and elements all objects and arrays of a message may have together.',
  batch: 'How many messages a batch may hold (2025-03-26 only).',
  headers: 'Longest head of an HTTP request.',
  headerLines: 'How many headers an HTTP request may have.',
  connections:
    'How many connections clients may have open over HTTP and WebSocket; fewer where the operating system allows fewer files.',
  headersTime: 'How long the head of an HTTP request may take.',
  requestTime: 'How long a whole HTTP request may take, head and body.',
  keepAliveTime: 'How long an HTTP connection without a request stays open.',
  sessions: 'How many sessions there may be over each of Streamable HTTP and HTTP+SSE.',
  sessionsPerPrincipal: 'How many of them one user or address may have.',
  sessionIdle: 'How long a session lives that nobody uses and that has no stream open.',
  streamsPerSession: 'How many event streams of one session may be open.',
  inbound:
    'How much all peers together may have sent that is not complete yet, or not dealt with; above it the largest are cut off.',
  authFailures: 'How many credentials of one address may be refused within a minute.',
  tokenChecks: 'How many tokens may be checked at the same time, as their issuers have to be asked.',
  clients: 'How many clients without session (2026-07-28) are known at an endpoint.',
  calls: 'How many requests may be under way altogether.',
  callsPerClient: 'How many requests one session or channel may have under way.',
  callsPerStatelessClient:
    'How many requests may be under way over HTTP for clients of 2026-07-28 that say the same about themselves.',
  callsPerServer: 'How many requests of clients may be under way on one connection to a server.',
  clientQueue:
    'How much may wait for a client on a channel (stdio, socket, WebSocket, HTTP+SSE) that takes nothing for as long as "stall".',
  streamQueue: 'How much may wait on one event stream for a client that does not read.',
  softQueue:
    'With more than this waiting for it, a client gets the latest progress only and no log messages, and is not read from.',
  unread:
    'How much may wait altogether for clients that do not read; above it those with most in front of them are cut off.',
  serverQueue: 'How much may wait for a server that does not read.',
  stall: 'How long a client or server that is behind may take nothing at all.',
  loginFlows: 'How many sign-ins at the embedded authorization server may be under way.',
  registrations: 'How many clients may be registered at the embedded authorization server.',
  replayEvents: 'How many events a session keeps for a client that lost its connection.',
  replayBytes: 'How much a session keeps for a client that lost its connection.',
  replayTotal: 'How much all sessions keep together.',
  replayAge: 'For how long a session keeps events.',
  parks: 'How many calls may wait on one connection for answers of clients of 2026-07-28.',
  parksPerPrincipal: 'How many calls of one user may wait for answers of clients of 2026-07-28.',
  questionsPerServer: 'How many questions on one connection to a server may wait for answers.',
  questionsPerClient: 'How many questions a client may owe an answer to.',
  questionTime: 'How long a question that belongs to no call waits for the answer of a client.',
  subscriptions: 'How many resources a client may be subscribed to.',
  listens: 'How many requests of one user may listen for changes (2026-07-28).',
  principalsPerServer: 'How many users with logins of their own one server has at a time.',
  connectionsPerServer: 'How many connections to one server that runs elsewhere may be open.',
  childrenPerServer: 'How many processes of one server may run.',
  children: 'How many processes of servers may run altogether.',
  starting: 'How many processes of servers start at the same time; the others wait for their turn.',
  logLines: 'How many lines of a process’s stderr are logged per second.',
  items: 'How many items of each list of a server are shown.',
  pages: 'How many pages of a list of a server are read.',
  listBytes: 'How long all items of a list of a server may be together.',
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

/** How each kind of limit is written. */
const KINDS = {
  count: { form: undefined, what: 'a whole number', example: '100' },
  bytes: {
    form: /^\d+(\.\d+)?\s?(B|KiB|MiB|GiB|kB|KB|MB|GB)$/,
    what: 'a number of bytes, or a text with a unit',
    example: '"16MiB"',
  },
  time: { form: /^\d+(\.\d+)?(ms|s|m|h)$/, what: 'a duration', example: '"30s"' },
} as const

// The range is checked by `read/quantity.ts`, which converts units.
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
    description: DESCRIPTIONS[name],
    default: form === undefined ? LIMIT_TABLE[name].fallback : shownLimit(name, LIMIT_TABLE[name].fallback),
  })
}

const objectOf = <N extends LimitName>(names: readonly N[], example: string) =>
  z.object(
    Object.fromEntries(names.map(name => [name, valueOf(name)])) as Record<N, ReturnType<typeof valueOf>>,
    objectMend(example),
  )

export const limits = objectOf(LIMIT_NAMES, '{ "callsPerClient": 64 }')

export const serverLimits = objectOf(SERVER_LIMITS, '{ "message": "16MiB" }')
