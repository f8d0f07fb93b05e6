type LimitKind = 'count' | 'bytes' | 'time'

/** One limit: its default and its range, as a count or in bytes or milliseconds. */
interface Limit {
  readonly kind: LimitKind
  readonly fallback: number
  readonly least: number
  readonly most: number
}

const KIB = 1024
const MIB = 1024 * KIB
const SECOND = 1000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE

const count = (fallback: number, least = 1): Limit => ({ kind: 'count', fallback, least, most: 1_000_000 })
const bytes = (fallback: number, least = KIB, most = 2 ** 40): Limit => ({
  kind: 'bytes',
  fallback,
  least,
  most,
})
// A message is one Buffer, and sometimes one string, which Node limits to this length.
const message = (fallback: number): Limit => bytes(fallback, 4 * KIB, 512 * MIB)
// Node's timers cannot wait longer (https://nodejs.org/api/timers.html).
const time = (fallback: number, least = 100): Limit => ({
  kind: 'time',
  fallback,
  least,
  most: 2_147_483_647,
})

/**
 * Every configurable limit, under its name in the configuration, the status and the log. docs/limits.md
 * describes what happens at each. The only place with such numbers.
 */
export const LIMIT_TABLE = {
  memory: bytes(2 ** 40, 64 * MIB),
  // ── one message ──
  message: message(64 * MIB),
  body: message(16 * MIB),
  depth: { kind: 'count', fallback: 512, least: 16, most: 10_000 },
  members: { kind: 'count', fallback: 1_000_000, least: 1000, most: 100_000_000 },
  batch: count(50),
  headers: bytes(16 * KIB, KIB, MIB),
  headerLines: count(100, 16),
  // ── connections and sessions of clients ──
  connections: count(8192),
  headersTime: time(10 * SECOND),
  requestTime: time(30 * SECOND),
  keepAliveTime: time(65 * SECOND),
  sessions: count(10_000),
  sessionsPerPrincipal: count(2000),
  sessionIdle: time(DAY, SECOND),
  streamsPerSession: count(256),
  clients: count(1000),
  inbound: bytes(256 * MIB, MIB),
  authFailures: count(20),
  tokenChecks: count(64),
  // ── requests in flight ──
  calls: count(16_384),
  callsPerClient: count(1024),
  callsPerStatelessClient: count(8192),
  callsPerServer: count(8192),
  // ── queues for peers that do not read ──
  clientQueue: bytes(32 * MIB, 64 * KIB),
  streamQueue: bytes(4 * MIB, 64 * KIB),
  softQueue: bytes(MIB, 16 * KIB),
  unread: bytes(256 * MIB, MIB),
  serverQueue: bytes(8 * MIB, 64 * KIB),
  stall: time(30 * SECOND, SECOND),
  // ── sign-ins ──
  loginFlows: count(1000),
  registrations: count(1000),
  // ── kept for clients ──
  replayEvents: count(500),
  replayBytes: bytes(MIB),
  replayTotal: bytes(128 * MIB),
  replayAge: time(5 * MINUTE, SECOND),
  parks: count(256),
  parksPerPrincipal: count(32),
  questionsPerServer: count(64),
  questionsPerClient: count(64),
  questionTime: time(10 * MINUTE, SECOND),
  subscriptions: count(1000),
  listens: count(8),
  rateBuckets: count(100_000),
  approvals: count(1000),
  approvalsPerPrincipal: count(100),
  // ── servers ──
  connectionsPerServer: count(1000),
  principalsPerServer: count(1000),
  childrenPerServer: count(64),
  children: count(256),
  starting: count(8),
  logLines: count(100),
  // ── lists ──
  items: count(10_000),
  pages: count(500),
  listBytes: bytes(16 * MIB),
} as const satisfies Record<string, Limit>

export type LimitName = keyof typeof LIMIT_TABLE

export type Limits = Readonly<Record<LimitName, number>>

export const LIMIT_NAMES = Object.keys(LIMIT_TABLE) as LimitName[]

export const DEFAULT_LIMITS = Object.fromEntries(
  LIMIT_NAMES.map(name => [name, LIMIT_TABLE[name].fallback]),
) as Limits

const SIZES = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
] as const

const TIMES = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const

/** Formats a limit with its unit. */
export const shownLimit = (name: LimitName, value: number): string => {
  const { kind } = LIMIT_TABLE[name]
  if (kind === 'count') return String(value)
  const unit = (kind === 'bytes' ? SIZES : TIMES).find(([, size]) => value % size === 0)
  if (unit !== undefined) return `${value / unit[1]}${unit[0]}`
  return kind === 'bytes' ? `${value}B` : `${value}ms`
}
