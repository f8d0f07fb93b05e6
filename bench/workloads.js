// The workloads, and their limits compared with the floor.

const KIB = 1024
const MIB = 1024 * KIB
const TOOLS = 'make'

/** `must` and `wish` hold limits of ratios to the floor: maximum `cpu` and `p50`, minimum `rate`. */
const calls = (name, front, load, must, wish, rest = {}) => ({
  name,
  front,
  sessions: load.sessions ?? 1,
  inFlight: load.inFlight ?? 1,
  work: {
    tool: load.tool ?? TOOLS,
    size: load.size ?? 20,
    argument: load.argument ?? 32,
    notices: load.notices ?? 0,
    isStructured: load.isStructured ?? false,
    list: load.list,
    /** Calls alternate between these. */
    inTurn: load.inTurn,
  },
  must,
  wish,
  ...rest,
})

const ALONE = { p50: 1.5 }
const ALONE_WISH = { p50: 1.2 }
const SMALL = { cpu: 1.6, rate: 0.65 }
const SMALL_WISH = { cpu: 1.3, rate: 0.8 }
const MIDDLE = { cpu: 1.5 }
const MIDDLE_WISH = { cpu: 1.2 }
const LARGE = { cpu: 1.2 }
const FEW = { inFlight: 16, sessions: 8 }
const MANY = { inFlight: 64, sessions: 8 }
const FULL = { isFull: true }
const COLD = { isCold: true }
const STATELESS = { client: '2026-07-28' }

/** Workloads of every transport. */
const each = (front, { sessions = 8, isMain = false } = {}) => [
  calls('cold: 200 B, first 500 calls of a process', front, {}, ALONE, ALONE_WISH, {
    ...COLD,
    isFull: !isMain,
  }),
  calls('200 B, one at a time', front, {}, ALONE, ALONE_WISH),
  calls('200 B, 16 in flight', front, { ...FEW, sessions }, SMALL, SMALL_WISH, { isFull: !isMain }),
  calls('200 B, 64 in flight', front, { ...MANY, sessions }, SMALL, SMALL_WISH),
  calls('10 KB, 64 in flight', front, { ...MANY, sessions, size: 10_000 }, MIDDLE, MIDDLE_WISH),
  calls('1 MiB results', front, { size: MIB }, MIDDLE, MIDDLE_WISH),
  calls('1 MiB arguments', front, { argument: MIB }, MIDDLE, MIDDLE_WISH),
  calls('8 MiB results', front, { size: 8 * MIB }, MIDDLE, MIDDLE_WISH, { isFull: !isMain }),
  calls('8 MiB arguments', front, { argument: 8 * MIB }, MIDDLE, MIDDLE_WISH, { isFull: !isMain }),
  calls('100 notices, then the answer', front, { notices: 100 }, { cpu: 2 }, { cpu: 2 }),
  calls('100 notices, 16 in flight', front, { ...FEW, sessions, notices: 100 }, { cpu: 2 }, { cpu: 2 }, FULL),
  calls(
    '10 KB arguments, 64 in flight',
    front,
    { ...MANY, sessions, argument: 10_000 },
    MIDDLE,
    MIDDLE_WISH,
    FULL,
  ),
  calls(
    '10 KB both ways, 64 in flight',
    front,
    { ...MANY, sessions, argument: 10_000, size: 10_000 },
    LARGE,
    LARGE,
  ),
  calls('20 notices in one burst, then the answer', front, { notices: 20 }, { cpu: 1.5 }, { cpu: 1.5 }),
]

const crowd = [1, 8, 32, 100].flatMap(sessions =>
  [16, 64].map(inFlight =>
    calls(
      `200 B, ${sessions} sessions, ${inFlight} in flight`,
      'http',
      { sessions, inFlight },
      SMALL,
      SMALL_WISH,
      FULL,
    ),
  ),
)

/** Clients of revision 2026-07-28, with a server that has a handshake and one of their own revision. */
const stateless = ['alone', 'many'].flatMap(how =>
  [undefined, 'modern'].map(server =>
    calls(
      `2026-07-28 to ${server === undefined ? '2025-11-25' : '2026-07-28'}: 200 B, ${how === 'alone' ? 'one at a time' : '64 in flight'}`,
      'http',
      how === 'alone' ? {} : MANY,
      how === 'alone' ? ALONE : SMALL,
      how === 'alone' ? ALONE_WISH : SMALL_WISH,
      { ...FULL, ...STATELESS, server },
    ),
  ),
)

const manyCalls = (count, tools, rest) => {
  const tool = `s${count - 1}__make`
  return calls(
    `${count} servers × ${tools} tools: calls`,
    'many',
    { ...MANY, tool },
    { cpu: 1.5 },
    { cpu: 1.5 },
    { servers: count, tools, warmUpTool: tool, ...rest },
  )
}

/** Sequential calls that alternate between servers, which are programs or remote. */
const inTurn = front => {
  const names = Array.from({ length: 10 }, (_, i) => `s${i}__make`)
  return calls(
    '10 servers in turn, one call at a time',
    front,
    { tool: names[0], inTurn: names },
    { cpu: 1.3, rate: 0.8 },
    { cpu: 1.3, rate: 0.8 },
    { servers: 10, tools: 10, warmUpTool: names[0] },
  )
}

const many = (count, tools, rest = {}) => [
  manyCalls(count, tools, rest),
  calls(
    `${count} servers × ${tools} tools: tools/list`,
    'many',
    { list: true, inFlight: 4, sessions: 4 },
    { cpu: 1.5 },
    { cpu: 1.5 },
    { servers: count, tools, warmUpTool: `s${count - 1}__make`, ...rest },
  ),
]

/** The cost of translation between eras, compared with the same proxy without translation. */
const acrossEras = [
  ['2025-11-25 to 2026-07-28', undefined],
  ['2026-07-28 to 2025-11-25', '2026-07-28'],
].map(([name, client]) =>
  calls(
    `${name}: 200 B, 64 in flight`,
    'across eras',
    MANY,
    { cpu: 1.15 },
    { cpu: 1.15 },
    { ...FULL, client },
  ),
)

/** The cost of a client's credential, compared with the same proxy without `auth`. */
const credentials = [
  ['static token', 'token', 1.05],
  ['cached JWT', 'jwt', 1.1],
].map(([name, credential, cpu]) => {
  const tool = 's0__make'
  return calls(
    `${name}: 200 B, 64 in flight`,
    'auth',
    { ...MANY, tool },
    { cpu },
    { cpu },
    { credential, warmUpTool: tool, apart: credential, isFull: true },
  )
})

/** The cost of a login at a server, compared with the same proxy and a server without login. */
const login = calls(
  '200 B, 64 in flight',
  'auth at a server',
  { ...MANY, tool: 's0__make' },
  { cpu: 1.03 },
  { cpu: 1.03 },
  { warmUpTool: 's0__make', isFull: true },
)

/**
 * The cost of replicas, compared with one process without a cluster: at the session's replica, and at another
 * one.
 */
const cluster = [
  ['owner', '200 B, 64 in flight', MANY, { cpu: 1.02 }],
  ['forwarded', '200 B, one at a time', {}, { cpu: 3.2 }],
  ['forwarded', '200 B, 64 in flight', MANY, { cpu: 3.2 }],
  ['forwarded', '100 notices, then the answer', { notices: 100 }, { cpu: 2 }],
  ['forwarded', '1 MiB results', { size: MIB }, { cpu: 1.6 }],
  ['forwarded', '8 MiB results', { size: 8 * MIB }, { cpu: 1.6 }],
].map(([apart, name, load, limits]) => {
  const tool = 's0__make'
  const rest = { warmUpTool: tool, apart, isFull: true }
  return calls(`${apart}: ${name}`, 'cluster', { ...load, tool }, limits, limits, rest)
})

export const WORKLOADS = [
  ...each('http', { isMain: true }),
  calls('structured output, one at a time', 'http', { isStructured: true }, { cpu: 1.3 }, { cpu: 1.3 }),
  ...crowd,
  ...stateless.sort((a, b) => (a.server ?? '').localeCompare(b.server ?? '')),
  ...each('sse'),
  ...each('ws'),
  ...each('stdio', { sessions: 1 }),
  ...acrossEras,
  inTurn('many'),
  inTurn('many remote'),
  ...many(10, 100),
  ...many(10, 1000),
  ...many(1, 10, FULL),
  ...many(50, 10, FULL),
  ...credentials,
  login,
  ...cluster,
]

const crowdOf = sessions =>
  calls(`${sessions} sessions`, 'http', { sessions, inFlight: 64 }, undefined, undefined, { apart: sessions })

/** Dimensions that must not change the cost of a call by more than this factor. */
const growth = (name, from, to) => ({ name, from, to, limit: 1.15 })
export const GROWTHS = [
  growth('1 to 100 sessions', crowdOf(1), crowdOf(100)),
  growth('1 to 50 servers', manyCalls(1, 10), manyCalls(50, 10)),
  growth('10 to 10,000 tools, 10 servers', manyCalls(10, 1), manyCalls(10, 1000)),
]
