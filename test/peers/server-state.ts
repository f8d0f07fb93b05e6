import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { failuresSoFar, nextState, type ServerEvent, type ServerState } from '../../src/peers/server-state.js'

const why = new Fault('unavailable', 'because')
const NOW = 100_000

const idle: ServerState = { at: 'idle' }
const starting: ServerState = { at: 'starting', sinceMs: NOW, failures: 2 }
const ready: ServerState = { at: 'ready', sinceMs: NOW - 59_999, failures: 2 }
const steady: ServerState = { at: 'ready', sinceMs: NOW - 60_000, failures: 2 }
const backoff: ServerState = { at: 'backoff', failures: 2, untilMs: 1, why }

const draining: ServerState = { at: 'draining', sinceMs: NOW }

const start: ServerEvent = { is: 'start' }
const up: ServerEvent = { is: 'ready' }
const lost: ServerEvent = { is: 'lost', why, waitMs: 500 }
const retire: ServerEvent = { is: 'retire' }
const stop: ServerEvent = { is: 'stop' }

const off = (failures: number): ServerState => ({ at: 'backoff', failures, untilMs: NOW + 500, why })

const ROWS: readonly (readonly [string, ServerState, ServerEvent, ServerState])[] = [
  ['the first start has no failures behind it', idle, start, { at: 'starting', sinceMs: NOW, failures: 0 }],
  ['a start after a failure remembers it', backoff, start, starting],
  ['a start while starting is none', starting, start, starting],
  ['a start while ready is none', ready, start, ready],
  ['only what starts gets ready', starting, up, { at: 'ready', sinceMs: NOW, failures: 2 }],
  ['what is idle does not', idle, up, idle],
  ['what waits does not', backoff, up, backoff],
  ['a failed start counts', starting, lost, off(3)],
  ['an early loss counts', ready, lost, off(3)],
  ['a loss after a minute is the first one again', steady, lost, off(1)],
  ['what is idle cannot be lost', idle, lost, idle],
  ['what is lost is lost once', backoff, lost, backoff],
  ['what is ready lets its calls finish when it is retired', ready, retire, draining],
  ['what starts goes on starting for those who wait', starting, retire, starting],
  ['what is idle has nobody to wait for', idle, retire, idle],
  ['what waits has nobody either', backoff, retire, backoff],
  ['what is retired is retired once', draining, retire, draining],
  ['what is retired does not come back when it is lost', draining, lost, idle],
  ['what is retired does not start', draining, start, draining],
  ['what is retired does not get ready', draining, up, draining],
  ['a stop ends a retirement', draining, stop, idle],
  ['a stop ends a start', starting, stop, idle],
  ['a stop ends what is ready', ready, stop, idle],
  ['a stop ends waiting', backoff, stop, idle],
]

t.test('a connection goes from state to state as it is written', async t => {
  for (const [reason, from, event, to] of ROWS) t.same(nextState(from, event, NOW), to, reason)
})

t.test('failures in a row are counted until a connection holds for a minute', async t => {
  t.same(
    [idle, starting, ready, steady, backoff, draining].map(state => failuresSoFar(state, NOW)),
    [0, 2, 2, 0, 2, 0],
  )
})
