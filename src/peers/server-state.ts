import { type Backoff, steadyBackoffMs } from '../kernel/async/backoff.js'
import type { Fault } from '../kernel/faults.js'
import { SESSION_LOST } from '../model/failure.js'
import { loginReasonOf } from '../model/login.js'

/** Rules for restarting a lost server, and for giving up. */
export interface RestartRules extends Backoff {
  /** This many failures within `windowMs`, without an answered call in between, are a crash loop. */
  readonly failures: number
  readonly windowMs: number
  /** Delay after a crash loop, and after each failed attempt in one. */
  readonly retryMs: number
}

/** The failures of a connection since it last answered a call. @internal */
export interface Past {
  readonly failures: number
  readonly recentMs: readonly number[]
  /** The reason for giving up; kept until it answers a call. */
  readonly gaveUp: Fault | undefined
}

/**
 * State of a connection to a server.
 *
 *   idle ──start──▶ starting ──ready──▶ ready ──retire──▶ draining
 *                     │  ▲                │                  │
 *                   lost start          lost                lost
 *                     ▼  │                │                  ▼
 *                   backoff ◀─────────────┤                 idle
 *                     or                  │
 *                   failed  ◀─────────────┘   the last of many failures in a short time
 *
 *   missing login ▶ needs-auth from starting and ready, ──start──▶ starting, by a call or a login
 *   stop ▶ idle from anywhere;  served: clears the failures of a ready connection
 *
 * A connection that has answered a call, or was up for a minute, restarts immediately after a loss. A failed
 * start counts as a failure, and so does the loss of a connection that answered no call. Failures count until
 * the server answers a call.
 */
export type ServerState =
  | { readonly at: 'idle' }
  | { readonly at: 'starting'; readonly sinceMs: number; readonly past: Past }
  | { readonly at: 'ready'; readonly sinceMs: number; readonly past: Past; readonly hasServed: boolean }
  /** Accepts no more calls; calls in flight may still finish. */
  | { readonly at: 'draining'; readonly sinceMs: number }
  | { readonly at: 'backoff'; readonly past: Past; readonly untilMs: number; readonly why: Fault }
  /** In a crash loop: restarts at `untilMs`, or earlier on a call. */
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
  /** The server has answered a client's request. */
  | { readonly is: 'served' }
  | { readonly is: 'retire' }
  /** `jitter` is a factor for the delay. */
  | { readonly is: 'lost'; readonly why: Fault; readonly jitter: number }
  | { readonly is: 'stop' }

/** A connection that was up this long works, even unused. */
const STEADY_MS = 60_000
/** Minimum time after a missing login before a call tries again, so that a new login takes effect soon. */
const LOGIN_MS = 5000

/** Minimum time between two sessions of one connection, however often its server loses them. */
const SESSION_MS = 1000

export const IDLE: ServerState = { at: 'idle' }

/** @internal */
export const NO_PAST: Past = { failures: 0, recentMs: [], gaveUp: undefined }

/** Returns the next state; an event without meaning in a state changes nothing. Pure. */
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
  // Covers every state that waits for another attempt.
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
  // A missing login does not show whether the server works.
  if (loginReasonOf(why) !== undefined) {
    return { at: 'needs-auth', past: state.past, untilMs: nowMs + LOGIN_MS, why }
  }
  const pausedMs = state.at === 'ready' && isSessionLoss(why) ? state.sinceMs + SESSION_MS : nowMs
  const soonMs = Math.max(nowMs, pausedMs)
  if (hasWorked(state, nowMs)) return { at: 'backoff', past: NO_PAST, untilMs: soonMs, why }
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
  // The first loss of a usable connection may be an accident.
  const isAccident = state.at === 'ready' && past.failures === 1
  const waitMs = isAccident ? 0 : steadyBackoffMs(past.failures - 1, rules) * jitter
  return { at: 'backoff', past, untilMs: Math.max(soonMs, nowMs + waitMs), why }
}

const isSessionLoss = ({ data }: Fault): boolean => data?.['reason'] === SESSION_LOST

/** Returns whether a connection waits only for the minimum time between two sessions. */
export const isPaused = ({ why, past }: Extract<ServerState, { at: 'backoff' }>): boolean =>
  isSessionLoss(why) && past.failures <= 1

const hasWorked = (state: ServerState, nowMs: number): boolean =>
  state.at === 'ready' && (state.hasServed || nowMs - state.sinceMs >= STEADY_MS)

const withFailure = ({ failures, recentMs, gaveUp }: Past, nowMs: number, rules: RestartRules): Past => {
  const latest = recentMs.filter(atMs => nowMs - atMs < rules.windowMs)
  return { failures: failures + 1, recentMs: [...latest, nowMs].slice(-rules.failures), gaveUp }
}

export const failuresOf = (state: ServerState): number => ('past' in state ? state.past.failures : 0)
