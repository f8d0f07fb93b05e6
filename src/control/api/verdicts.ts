import type { ProblemId } from '../../diagnostics/causes.js'
import { errorLines } from '../../kernel/error-lines.js'
import type { ListName } from '../../model/listing.js'
import type { KeptError } from '../../mux/calls/fault-log.js'
import type { Server } from '../../peers/server.js'
import { type ServerStatus, statusOfServer } from '../../telemetry/status/status.js'
import type { ControlApiContext } from './context.js'

/** The reasons that `why` gives; a closed list. */
export type Explanation =
  | 'shown'
  | 'hidden'
  | 'broken'
  | 'repeated'
  | 'cut-off'
  | 'renamed'
  | 'overridden'
  | 'shortened'
  | 'prefixed'
  | 'repaired'
  | 'output-schema-withdrawn'
  | 'changed'
  | 'uri-by-prefix'
  | 'uri-by-list'
  | 'uri-by-template'
  | 'uri-seen'
  | 'uri-by-elimination'
  | 'ambiguous'
  | 'unknown'
  | 'disabled'
  | 'removed'
  | 'misconfigured'
  | 'resting'
  | 'starting'
  | 'backoff'
  | 'failed'
  | 'needs-login'
  | 'waiting'
  | 'list-not-read'
  | 'remark'
  | 'error'

export interface Reason {
  readonly verdict: Explanation
  /** A masked message for people. */
  readonly words: string
  /** The number of the problem (docs/doctor.md). */
  readonly doctor?: ProblemId | undefined
  readonly pattern?: string | undefined
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
}

/** The output of `mcp-proxy why --json`. */
export interface Why {
  readonly version: 1
  readonly query: string
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'server' | 'error' | 'unknown'
  readonly verdict: Explanation
  /** True if a request for it would be answered. For an error id: true if it is known. */
  readonly answered: boolean
  readonly server?: string | undefined
  /** The state of that server, and the age of its list. */
  readonly about?: string | undefined
  /** The server's own name of it. */
  readonly own?: string | undefined
  readonly causes: readonly Reason[]
  /** The fix of an error. */
  readonly fix?: string | undefined
  /** The error with the requested id. */
  readonly error?: KeptError | undefined
}

/** The problem numbers that do not depend on the context. */
const NUMBERS: Readonly<Partial<Record<Explanation, ProblemId>>> = {
  broken: 'D061',
  repaired: 'D061',
  shortened: 'D060',
  prefixed: 'D062',
  'cut-off': 'D080',
}

/** Adds the problem number of each cause. */
export const numberedVerdict = (why: Why): Why => ({
  ...why,
  causes: why.causes.map(cause => ({ ...cause, doctor: cause.doctor ?? NUMBERS[cause.verdict] })),
})

/** Returns true if a call would reach a server in this state. */
export const isAnsweredBy = ({ state }: ServerStatus): boolean =>
  state === 'ready' || state === 'idle' || state === 'starting' || state === 'draining'

/** Returns the reachability of a server and the reasons against it. `list` contains the requested item. */
export const reachOf = (
  context: ControlApiContext,
  server: string,
  list: ListName,
): Pick<Why, 'answered' | 'causes'> => {
  const status = statusOfServer(context, server)
  if (status === undefined) return { answered: false, causes: [] }
  const remarks = status.remarks.filter(remark => remark.list === list)
  const causes = causesOf(context, { ...status, remarks }).filter(({ verdict }) => verdict !== 'remark')
  return { answered: isAnsweredBy(status), causes }
}

/** Formats an age for people: `4 min`. */
export const ageText = (ms: number): string => {
  const minutes = ms / 60_000
  if (minutes < 1) return `${Math.max(0, Math.round(ms / 1000))} s`
  return minutes < 90 ? `${Math.round(minutes)} min` : `${Math.round(minutes / 60)} h`
}

/** Describes a server's state and the age of one of its lists in a line. */
export const serverVerdict = (
  context: ControlApiContext,
  server: Server,
  list: ListName = 'tools',
): string | undefined => {
  const status = statusOfServer(context, server.name)
  if (status === undefined) return undefined
  const { state, stateMs, connections, transport, revision } = status
  const { readMs } = context.router.catalog.summary(server, [...server.connections])
  const atMs = readMs(list)
  const since = connections === 0 ? '' : ` for ${ageText(stateMs)}`
  const listed = atMs === undefined ? '' : `, listed ${ageText(context.clock.nowMs() - atMs)} ago`
  return `${state}${since} (${[transport, revision].filter(Boolean).join(', ')})${listed}`
}

/** Returns the problems of a server. Empty for a ready server. */
export const causesOf = ({ logins, router }: ControlApiContext, status: ServerStatus): readonly Reason[] => {
  const server = router.pool.servers.find(({ name }) => name === status.name)
  const problem = server && logins.problemOf(server.options)
  const causes = stateCauses(status)
  if (problem === undefined) return causes
  return [
    ...causes,
    { verdict: 'needs-login', words: `its authorization server last answered: ${problem}`, doctor: 'D036' },
  ]
}

const stateCauses = (status: ServerStatus): readonly Reason[] => {
  const { state, why, doctor, stderr, retryMs, failures, remarks, lastFault } = status
  const said = errorLines(stderr ?? [], SAID_LINES).map(line => `it last wrote: ${line}`)
  const verdict = STATES[state] ?? 'needs-login'
  const cause = (words: string, number?: ProblemId): Reason => ({ verdict, words, doctor: number })
  const next = retryMs === undefined ? [] : [`it is tried again in ${Math.ceil(retryMs / 1000)} s`]
  const gaveUp =
    state === 'failed' && retryMs !== undefined
      ? [cause(`it is marked as failed after ${failures} failures`, 'D039')]
      : []
  const more = [
    ...(why === undefined ? lastFailure(status).map(({ words, number }) => cause(words, number)) : []),
    ...(why === undefined ? [] : [cause(why, doctor)]),
    ...gaveUp,
    ...[...next, ...said].map(words => cause(words)),
  ]
  const resting = RESTING[state]
  const causes = verdict === 'shown' ? [] : [...(resting === undefined ? [] : [cause(resting)]), ...more]
  const fault = lastFault && {
    words: `its last error was ${lastFault.id}: ${lastFault.message.replaceAll('\n', ' ')}`,
  }
  return [
    ...causes,
    ...remarks.map(
      ({ kind, message }): Reason => ({
        verdict: kind === 'list' ? 'list-not-read' : 'remark',
        words: `it ${message}`,
      }),
    ),
    ...(fault === undefined ? [] : [{ verdict: 'remark', ...fault } as const]),
  ]
}

const SAID_LINES = 5

/** Returns the last failure of a server that is restarting. */
const lastFailure = ({ state, failures, lastError }: ServerStatus) => {
  if (state !== 'starting' || failures === 0 || lastError === undefined) return []
  const { message, agoMs, doctor: number } = lastError
  const times = failures === 1 ? 'once' : `${failures} times in a row`
  return [{ words: `it failed ${times}, last ${ageText(agoMs)} ago: ${message}`, number }]
}

const STATES: Readonly<Record<string, Explanation | undefined>> = {
  ready: 'shown',
  draining: 'shown',
  idle: 'resting',
  starting: 'starting',
  backoff: 'backoff',
  failed: 'failed',
  waiting: 'waiting',
}

const RESTING: Readonly<Record<string, string | undefined>> = {
  idle: 'it is not running; the first call starts it',
  starting: 'it is being started',
}

/** The causes of a tool that no list shows. */
export const TRUNCATED: readonly Reason[] = [
  { verdict: 'cut-off', words: 'the list of its tools was truncated at a limit (limits.items)' },
]

export const UNREAD_LIST: readonly Reason[] = [
  { verdict: 'list-not-read', words: 'the list of its tools was not read yet' },
]

export const notListed = (near: string): Reason => ({
  verdict: 'unknown',
  words: `the server lists no such tool${near}`,
})

/** A cached list does not record whether it was truncated. */
export const isFull = (known: { readonly length: number } | undefined, { bounds }: Server): boolean =>
  known !== undefined && known.length >= bounds.max.items
