import type { Fault } from '../kernel/faults.js'

/**
 * Where a connection to a server stands.
 *
 *   idle ─start▶ starting ─ready▶ ready ─lost▶ backoff ─start▶ starting;  starting ─lost▶ backoff
 *   ready ─retire▶ draining ─lost▶ idle;  stop ▶ idle from anywhere
 */
export type ServerState =
  | { readonly at: 'idle' }
  | { readonly at: 'starting'; readonly sinceMs: number; readonly failures: number }
  | { readonly at: 'ready'; readonly sinceMs: number; readonly failures: number }
  /** Takes no more calls; those under way may still finish. */
  | { readonly at: 'draining'; readonly sinceMs: number }
  | { readonly at: 'backoff'; readonly failures: number; readonly untilMs: number; readonly why: Fault }

/** What happens to a connection. */
export type ServerEvent =
  | { readonly is: 'start' }
  | { readonly is: 'ready' }
  | { readonly is: 'retire' }
  | { readonly is: 'lost'; readonly why: Fault; readonly waitMs: number }
  | { readonly is: 'stop' }

/** A connection that was up for so long starts counting failures anew. */
const STEADY_MS = 60_000

/** Nobody needs the server, or nobody did yet. */
export const IDLE: ServerState = { at: 'idle' }

/** How many failures in a row there were up to now. Pure. */
export const failuresSoFar = (state: ServerState, nowMs: number): number => {
  if (state.at === 'idle' || state.at === 'draining') return 0
  const wasSteady = state.at === 'ready' && nowMs - state.sinceMs >= STEADY_MS
  return wasSteady ? 0 : state.failures
}

/** The next state; an event that means nothing in a state leaves it as it is. Pure. */
export const nextState = (state: ServerState, event: ServerEvent, nowMs: number): ServerState => {
  switch (event.is) {
    case 'start':
      return state.at === 'idle' || state.at === 'backoff'
        ? { at: 'starting', sinceMs: nowMs, failures: state.at === 'backoff' ? state.failures : 0 }
        : state
    case 'ready':
      return state.at === 'starting' ? { at: 'ready', sinceMs: nowMs, failures: state.failures } : state
    case 'retire':
      return state.at === 'ready' ? { at: 'draining', sinceMs: nowMs } : state
    case 'lost': {
      if (state.at === 'draining') return IDLE
      if (state.at !== 'starting' && state.at !== 'ready') return state
      const failures = failuresSoFar(state, nowMs) + 1
      return { at: 'backoff', failures, untilMs: nowMs + event.waitMs, why: event.why }
    }
    case 'stop':
      return IDLE
  }
}
