import { jitter } from '../kernel/async/backoff.js'
import type { Clock, Timer } from '../kernel/async/clock.js'
import { errorLines } from '../kernel/error-lines.js'
import { Fault } from '../kernel/faults.js'
import { loginReasonOf } from '../model/login.js'
import type { ServerOptions } from './dial.js'
import { failuresOf, IDLE, isPaused, nextState, type ServerEvent, type ServerState } from './server-state.js'

/** Minimum time after a failed attempt before a call may start the next one in a crash loop. */
const DEMAND_MS = 5000
/** Retry time reported to clients while such an attempt is in progress. */
const TRYING_MS = 1000
/** Maximum number of stderr lines quoted in an error message; its data has all of them. */
const SHOWN_LINES = 5

export interface Loss {
  readonly why: Fault
  readonly atMs: number
}

export interface Supervised {
  readonly clock: Clock
  isNeeded(): boolean
  /** Starts an attempt to open the connection, which reports back by `step` or `lost`. */
  start(): void
}

/** Drives the state machine of one connection: records losses and schedules restarts. */
export class Supervisor {
  readonly #server: ServerOptions
  readonly #supervised: Supervised
  #state: ServerState = IDLE
  #sinceMs: number
  #wasThere = false
  #lastLoss: Loss | undefined
  #restart: Timer | undefined

  constructor(server: ServerOptions, supervised: Supervised) {
    this.#server = server
    this.#supervised = supervised
    this.#sinceMs = supervised.clock.nowMs()
  }

  get state(): ServerState {
    return this.#state
  }

  get sinceMs(): number {
    return this.#sinceMs
  }

  get lastLoss(): Loss | undefined {
    return this.#lastLoss
  }

  step(event: ServerEvent): void {
    const { clock } = this.#supervised
    const nowMs = clock.nowMs()
    const next = nextState(this.#state, event, nowMs, this.#server.restart)
    if (next.at !== this.#state.at) this.#sinceMs = nowMs
    this.#state = next
    this.#wasThere ||= next.at === 'ready'
    this.#restart?.cancel()
    this.#restart = undefined
    if (next.at === 'backoff' || next.at === 'failed') this.#restartIn(next.untilMs - nowMs)
  }

  lost(why: Fault): void {
    this.#lastLoss = { why, atMs: this.#supervised.clock.nowMs() }
    this.step({ is: 'lost', why, jitter: jitter() })
  }

  /**
   * Returns why the server must not be started now; undefined if it may. In a crash loop a call may start it
   * early, unless the last attempt is too recent; calls during such an attempt fail instead of waiting.
   */
  notDue(): Fault | undefined {
    const state = this.#state
    const nowMs = this.#supervised.clock.nowMs()
    const isEarly =
      ((state.at === 'backoff' || state.at === 'needs-auth') && nowMs < state.untilMs) ||
      (state.at === 'failed' && nowMs < state.sinceMs + DEMAND_MS)
    if (isEarly) return this.unavailable(state.why)
    const gaveUp = state.at === 'starting' ? state.past.gaveUp : undefined
    return gaveUp && this.unavailable(gaveUp)
  }

  /** Resolves when the session after a lost one may begin; undefined in any other state. */
  pause(): Promise<void> | undefined {
    const state = this.#state
    if (state.at !== 'backoff' || !isPaused(state)) return undefined
    const { clock } = this.#supervised
    return new Promise(resolve => clock.after(state.untilMs - clock.nowMs(), resolve))
  }

  unavailable(why: Fault): Fault {
    if (loginReasonOf(why) !== undefined) return why
    const place = { state: this.#state, wasThere: this.#wasThere, nowMs: this.#supervised.clock.nowMs() }
    return unavailableFault(this.#server, place, why)
  }

  get retryAfterLossMs(): number | undefined {
    const nowMs = this.#supervised.clock.nowMs()
    const lost: ServerEvent = { is: 'lost', why: new Fault('disconnected', 'it was lost'), jitter: 1 }
    return retryAfter(nextState(this.#state, lost, nowMs, this.#server.restart), nowMs)
  }

  /** Timers may fire slightly early, so this does not check the time. */
  #restartIn(waitMs: number): void {
    const { clock } = this.#supervised
    this.#restart = clock.after(waitMs, () => {
      if (this.#supervised.isNeeded()) this.#supervised.start()
      else if (this.#state.at === 'failed') this.#restartIn(this.#server.restart.retryMs)
    })
  }
}

interface Place {
  readonly state: ServerState
  readonly wasThere: boolean
  readonly nowMs: number
}

/**
 * Returns the fault for an unreachable server, with the time of the next attempt (`data.retryAfterMs`) if
 * known.
 */
const unavailableFault = (
  { name, restart }: ServerOptions,
  { state, wasThere, nowMs }: Place,
  why: Fault,
): Fault => {
  // Output from while it served may concern other clients.
  const stderrTail = failuresOf(state) > 0 ? (why.stderrTail ?? []) : []
  const retryAfterMs = wasThere || state.at !== 'backoff' ? retryAfter(state, nowMs) : undefined
  return new Fault(
    codeOf(why),
    `Server ${name} is not reachable: ${why.message}${circumstances(state, restart)}${spoken(stderrTail)}`,
    {
      cause: why,
      lines: errorLines(stderrTail, SHOWN_LINES),
      data: {
        ...why.data,
        ...reasonOf(state),
        server: name,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(stderrTail.length > 0 && { stderr: stderrTail }),
      },
    },
  )
}

/** Keeps the codes that a peer can act on. */
const codeOf = ({ code }: Fault): Fault['code'] =>
  code === 'timeout' || code === 'unauthorized' ? code : 'unavailable'

const reasonOf = ({ at }: ServerState): { readonly reason?: string } => {
  if (at === 'failed') return { reason: 'server_failed' }
  return at === 'starting' ? { reason: 'server_starting' } : {}
}

const circumstances = (state: ServerState, { failures, windowMs }: ServerOptions['restart']): string => {
  if (state.at === 'starting') return ' (it is being tried again)'
  if (state.at !== 'failed') return ''
  const times = `${failures} failures within ${Math.round(windowMs / 1000)} s`
  return ` (given up after ${times}; retried periodically and on the next call)`
}

const spoken = (lines: readonly string[]): string => (lines.length === 0 ? '' : '; it last wrote to stderr:')

/** Returns the milliseconds until the server may be asked again; undefined if never. */
const retryAfter = (state: ServerState, nowMs: number): number | undefined => {
  switch (state.at) {
    case 'backoff':
      return restMs(state.untilMs, nowMs)
    case 'failed':
      return restMs(Math.min(state.untilMs, state.sinceMs + DEMAND_MS), nowMs)
    case 'starting':
      return TRYING_MS
    case 'needs-auth':
    case 'idle':
    case 'ready':
    case 'draining':
      return undefined
  }
}

const restMs = (untilMs: number, nowMs: number): number => Math.max(0, Math.ceil(untilMs - nowMs))
