import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import {
  failuresOf,
  NO_PAST,
  nextState,
  type Past,
  type RestartRules,
  type ServerEvent,
  type ServerState,
} from '../../src/peers/server-state.js'

const why = new Fault('unavailable', 'because')
const before = new Fault('unavailable', 'as before')
const NOW = 100_000
const RULES: RestartRules = { firstMs: 500, maxMs: 30_000, failures: 5, windowMs: 60_000, retryMs: 60_000 }

/** So many failures, the latest of them at these times before now. */
const past = (failures: number, agoMs: readonly number[] = [], gaveUp?: Fault): Past => ({
  failures,
  recentMs: agoMs.map(ms => NOW - ms),
  gaveUp,
})

const idle: ServerState = { at: 'idle' }
const starting = (held: Past): ServerState => ({ at: 'starting', sinceMs: NOW, past: held })
const ready = (held: Past, upMs = 0, hasServed = false): ServerState => ({
  at: 'ready',
  sinceMs: NOW - upMs,
  past: held,
  hasServed,
})
const draining: ServerState = { at: 'draining', sinceMs: NOW }
const backoff = (held: Past, waitMs: number, reason = why): ServerState => ({
  at: 'backoff',
  past: held,
  untilMs: NOW + waitMs,
  why: reason,
})
const failed = (held: Past, reason = why): ServerState => ({
  at: 'failed',
  sinceMs: NOW,
  past: held,
  untilMs: NOW + 60_000,
  why: reason,
})

const start: ServerEvent = { is: 'start' }
const up: ServerEvent = { is: 'ready' }
const served: ServerEvent = { is: 'served' }
const retire: ServerEvent = { is: 'retire' }
const lost: ServerEvent = { is: 'lost', why, jitter: 1 }
const stop: ServerEvent = { is: 'stop' }

const two = past(2, [2000, 1000])
const four = past(4, [4000, 3000, 2000, 1000])
const gone = past(7, [50_000], before)

const ROWS: readonly (readonly [string, ServerState, ServerEvent, ServerState])[] = [
  ['the first start has nothing held against it', idle, start, starting(NO_PAST)],
  ['what is idle does not get ready', idle, up, idle],
  ['what is idle has served nobody', idle, served, idle],
  ['what is idle has nobody to wait for', idle, retire, idle],
  ['what is idle cannot be lost', idle, lost, idle],
  ['what is idle can be stopped', idle, stop, idle],

  ['a start while starting is none', starting(two), start, starting(two)],
  ['only what starts gets ready', starting(two), up, ready(two)],
  ['what starts has served nobody', starting(two), served, starting(two)],
  ['what starts goes on starting for those who wait', starting(two), retire, starting(two)],
  ['the first failed start', starting(NO_PAST), lost, backoff(past(1, [0]), 500)],
  ['the third is followed by a longer wait', starting(two), lost, backoff(past(3, [2000, 1000, 0]), 2000)],
  [
    'the wait is made longer or shorter by chance',
    starting(NO_PAST),
    { is: 'lost', why, jitter: 1.2 },
    backoff(past(1, [0]), 600),
  ],
  [
    'the fifth in a minute is a crash loop',
    starting(four),
    lost,
    failed(past(5, [4000, 3000, 2000, 1000, 0], why)),
  ],
  [
    'the fifth in more than that is not',
    starting(past(4, [60_000, 40_000, 20_000, 1000])),
    lost,
    backoff(past(5, [40_000, 20_000, 1000, 0]), 8000),
  ],
  ['no wait is longer than the longest', starting(past(20)), lost, backoff(past(21, [0]), 30_000)],
  ['what failed once more stays failed', starting(gone), lost, failed(past(8, [50_000, 0], why))],
  ['a stop ends a start', starting(two), stop, idle],

  ['a start while ready is none', ready(two), start, ready(two)],
  ['ready is ready', ready(two), up, ready(two)],
  ['who has served has nothing held against it', ready(gone, 5), served, ready(NO_PAST, 5, true)],
  ['what has served has served', ready(NO_PAST, 5, true), served, ready(NO_PAST, 5, true)],
  ['what is ready lets its calls finish when it is retired', ready(two), retire, draining],
  [
    'the first loss before it served anybody may be an accident',
    ready(NO_PAST),
    lost,
    backoff(past(1, [0]), 0),
  ],
  ['the next one is none', ready(past(1, [1000])), lost, backoff(past(2, [1000, 0]), 1000)],
  ['the fifth is a crash loop', ready(four), lost, failed(past(5, [4000, 3000, 2000, 1000, 0], why))],
  ['to be ready is not enough to be trusted again', ready(gone), lost, failed(past(8, [50_000, 0], why))],
  ['the loss of what has served is no failure', ready(NO_PAST, 1, true), lost, backoff(NO_PAST, 0)],
  ['nor is that of what was up for a minute', ready(gone, 60_000), lost, backoff(NO_PAST, 0)],
  ['a moment less is not a minute', ready(two, 59_999), lost, backoff(past(3, [2000, 1000, 0]), 2000)],
  ['a stop ends what is ready', ready(two), stop, idle],

  ['what is retired does not start', draining, start, draining],
  ['what is retired does not get ready', draining, up, draining],
  ['what is retired owes nobody anything', draining, served, draining],
  ['what is retired is retired once', draining, retire, draining],
  ['what is retired does not come back when it is lost', draining, lost, idle],
  ['a stop ends a retirement', draining, stop, idle],

  ['a start after a failure remembers it', backoff(two, 1), start, starting(two)],
  ['what waits does not get ready', backoff(two, 1), up, backoff(two, 1)],
  ['what waits serves nobody', backoff(two, 1), served, backoff(two, 1)],
  ['what waits has no calls', backoff(two, 1), retire, backoff(two, 1)],
  ['what is lost is lost once', backoff(two, 1), lost, backoff(two, 1)],
  ['a stop ends waiting', backoff(two, 1), stop, idle],

  ['what has failed can be tried', failed(gone), start, starting(gone)],
  ['what has failed does not get ready by itself', failed(gone), up, failed(gone)],
  ['what has failed serves nobody', failed(gone), served, failed(gone)],
  ['what has failed has no calls', failed(gone), retire, failed(gone)],
  ['what has failed has failed', failed(gone), lost, failed(gone)],
  ['a stop ends a failure', failed(gone), stop, idle],
]

t.test('a connection goes from state to state as it is written', async t => {
  for (const [reason, from, event, to] of ROWS) t.same(nextState(from, event, NOW, RULES), to, reason)
  const pairs = ROWS.map(([, from, event]) => `${from.at} ${event.is}`)
  t.equal(new Set(pairs).size, 6 * 6, 'each event is tried in each state')
})

t.test('consecutive failures are counted until a client is served', async t => {
  t.same(
    [idle, starting(two), ready(two), ready(NO_PAST), draining, backoff(two, 1), failed(gone)].map(
      failuresOf,
    ),
    [0, 2, 2, 0, 0, 2, 7],
  )
})

t.test(
  'a server that dies whenever it is called, and serves others in between, is never given up',
  async t => {
    let state: ServerState = idle
    let nowMs = 0
    for (let time = 0; time < 100; time += 1) {
      for (const event of [start, up, ...(time % 3 === 0 ? [served] : []), lost]) {
        state = nextState(state, event, nowMs, RULES)
      }
      t.equal(state.at, 'backoff')
      nowMs = state.at === 'backoff' ? state.untilMs : nowMs
    }
    t.ok(nowMs < 100 * 2000, 'nor does anybody wait long for it')
  },
)
