import { Fault } from '../kernel/faults.js'
import type { ServerOptions } from './options.js'
import { failuresOf, type ServerState } from './server-state.js'

/** How soon after a try that came to nothing a call may make the next one, of a server in a crash loop. */
export const DEMAND_MS = 5000
/** What those are told to wait who come while such a try is under way. */
const TRYING_MS = 1000
/** How many of a program's last lines an error says in its words; all are in its data. */
const SHOWN_LINES = 5

/** Where a connection stands. */
interface Place {
  readonly state: ServerState
  /** Whether the server was ever there. */
  readonly wasThere: boolean
  readonly nowMs: number
}

/**
 * Why a server cannot be asked, in words for whoever called it, and when it may be asked again (`data.retryAfterMs`); not the
 * latter if nothing says yet that it will ever be there.
 */
export const unavailableFault = (
  { name, restart }: ServerOptions,
  { state, wasThere, nowMs }: Place,
  why: Fault,
): Fault => {
  // What it wrote while it served may be about others.
  const lastWords = failuresOf(state) > 0 ? (why.lastWords ?? []) : []
  const retryAfterMs = wasThere || state.at !== 'backoff' ? retryAfter(state, nowMs) : undefined
  return new Fault(
    codeOf(why),
    `Server ${name} is not reachable: ${why.message}${circumstances(state, restart)}${spoken(lastWords)}`,
    {
      cause: why,
      lines: lastWords.slice(-SHOWN_LINES),
      data: {
        ...why.data,
        ...reasonOf(state),
        server: name,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(lastWords.length > 0 && { stderr: lastWords }),
      },
    },
  )
}

/** What a peer can do about it; the rest is all the same to it. */
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
  return ` (given up after ${times}; it is tried again now and then, and when it is called)`
}

const spoken = (lines: readonly string[]): string => (lines.length === 0 ? '' : '; it last wrote to stderr:')

/** In how many milliseconds the server may be asked again; undefined if it will not be asked again. */
export const retryAfter = (state: ServerState, nowMs: number): number | undefined => {
  switch (state.at) {
    case 'backoff':
      return restMs(state.untilMs, nowMs)
    case 'failed':
      return restMs(Math.min(state.untilMs, state.sinceMs + DEMAND_MS), nowMs)
    case 'starting':
      return TRYING_MS
    case 'idle':
    case 'ready':
    case 'draining':
      return undefined
  }
}

const restMs = (untilMs: number, nowMs: number): number => Math.max(0, Math.ceil(untilMs - nowMs))
