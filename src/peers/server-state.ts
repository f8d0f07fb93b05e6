import { type Backoff, steadyBackoffMs } from '../kernel/async/backoff.js'
import type { Fault } from '../kernel/faults.js'
import { loginReasonOf } from '../model/login.js'

/** When a lost server is started again, and when that is given up. */
export interface RestartRules extends Backoff {
  /** That many failures within `windowMs`, with no call answered in between, are a crash loop. */
  readonly failures: number
  readonly windowMs: number
  /** How long to wait after a crash loop, and after each failed attempt in one. */
  readonly retryMs: number
}

/** The failures of a connection since it last answered a call. @internal */
export interface Past {
  readonly failures: number
  readonly recentMs: readonly number[]
  /** Why it was given up; kept until it answers a call. */
  readonly gaveUp: Fault | undefined
}

/**
 * Where a connection to a server stands.
 *
 *   idle ──start──▶ starting ──ready──▶ ready ──retire──▶ draining
 *                     │  ▲                │                  │
 *                   lost start          lost                lost
 *                     ▼  │                │                  ▼
 *                   backoff ◀─────────────┤                 idle
 *                     or                  │
 *                   failed  ◀─────────────┘   the last of many failures in a short time
 *
 *   a login that is missing ▶ needs-auth from starting and ready, ──start──▶ starting, by a call or a login
 *   stop ▶ idle from anywhere;  served: a ready connection has nothing held against it any more
 *
 * A connection that has answered a call, or was up for a minute, is restarted at once when it is lost. A
 * start that fails is a failure, and so is the loss of a connection that answered nobody; failures count
 * until it answers a call.
 */
export type ServerState =
  | { readonly at: 'idle' }
  | { readonly at: 'starting'; readonly sinceMs: number; readonly past: Past }
  | { readonly at: 'ready'; readonly sinceMs: number; readonly past: Past; readonly hasServed: boolean }
  /** Takes no more calls; those under way may still finish. */
  | { readonly at: 'draining'; readonly sinceMs: number }
  | { readonly at: 'backoff'; readonly past: Past; readonly untilMs: number; readonly why: Fault }
  /** In a crash loop: started again at `untilMs`, or earlier if it is called. */
  | {
      readonly at: 'failed'
      readonly sinceMs: number
      readonly past: Past
      readonly untilMs: number
      readonly why: Fault
    }
  | { readonly at: 'needs-auth'; readonly past: Past; readonly untilMs: number; readonly why: Fault }

export type ServerEvent =
  | { readonly is: 'start' }
  | { readonly is: 'ready' }
  /** It has answered a request of a client. */
  | { readonly is: 'served' }
  | { readonly is: 'retire' }
  /** `jitter` is a factor for the wait. */
  | { readonly is: 'lost'; readonly why: Fault; readonly jitter: number }
  | { readonly is: 'stop' }

/** A connection that was up this long has shown that it works, even unused. */
const STEADY_MS = 60_000
/** How long after a login was found missing the next call looks again; whoever signs in need not wait. */
const LOGIN_MS = 5000

export const IDLE: ServerState = { at: 'idle' }

/** @internal */
export const NO_PAST: Past = { failures: 0, recentMs: [], gaveUp: undefined }

/** Returns the next state; an event that means nothing in a state leaves it as it is. Pure. */
export const nextState = (
  state: ServerState,
  event: ServerEvent,
  nowMs: number,
  rules: RestartRules,
): ServerState => {
  switch (event.is) {
    case 'start':
      return afterStart(state, nowMs)
    case 'ready':
      return state.at === 'starting'
        ? { at: 'ready', sinceMs: nowMs, past: state.past, hasServed: false }
        : state
    case 'served':
      return state.at === 'ready' && !state.hasServed ? { ...state, past: NO_PAST, hasServed: true } : state
    case 'retire':
      return state.at === 'ready' ? { at: 'draining', sinceMs: nowMs } : state
    case 'lost':
      return afterLoss(state, event, nowMs, rules)
    case 'stop':
      return IDLE
  }
}

const afterStart = (state: ServerState, nowMs: number): ServerState => {
  if (state.at === 'idle') return { at: 'starting', sinceMs: nowMs, past: NO_PAST }
  // Waiting for another attempt, for whatever reason.
  return 'why' in state ? { at: 'starting', sinceMs: nowMs, past: state.past } : state
}

const afterLoss = (
  state: ServerState,
  { why, jitter }: Extract<ServerEvent, { is: 'lost' }>,
  nowMs: number,
  rules: RestartRules,
): ServerState => {
  if (state.at === 'draining') return IDLE
  if (state.at !== 'starting' && state.at !== 'ready') return state
  // It says nothing about whether the server works.
  if (loginReasonOf(why) !== undefined) {
    return { at: 'needs-auth', past: state.past, untilMs: nowMs + LOGIN_MS, why }
  }
  if (hasWorked(state, nowMs)) return { at: 'backoff', past: NO_PAST, untilMs: nowMs, why }
  const past = withFailure(state.past, nowMs, rules)
  if (past.gaveUp !== undefined || past.recentMs.length >= rules.failures) {
    return {
      at: 'failed',
      sinceMs: nowMs,
      past: { ...past, gaveUp: why },
      untilMs: nowMs + rules.retryMs,
      why,
    }
  }
  // The first loss of a connection that could be used may be an accident.
  const isAccident = state.at === 'ready' && past.failures === 1
  const waitMs = isAccident ? 0 : steadyBackoffMs(past.failures - 1, rules) * jitter
  return { at: 'backoff', past, untilMs: nowMs + waitMs, why }
}

const hasWorked = (state: ServerState, nowMs: number): boolean =>
  state.at === 'ready' && (state.hasServed || nowMs - state.sinceMs >= STEADY_MS)

const withFailure = ({ failures, recentMs, gaveUp }: Past, nowMs: number, rules: RestartRules): Past => {
  const latest = recentMs.filter(atMs => nowMs - atMs < rules.windowMs)
  return { failures: failures + 1, recentMs: [...latest, nowMs].slice(-rules.failures), gaveUp }
}

export const failuresOf = (state: ServerState): number => ('past' in state ? state.past.failures : 0)
