import { type CauseCode, familyOf, type ProblemId } from '../../diagnostics/causes.js'
import { type Cause, cause, explain } from '../../diagnostics/explain.js'
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
  | 'denied'
  | 'rule'
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
  | 'changed-since-lock'
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
  readonly code: CauseCode
  /** A masked message for people. */
  readonly words: string
  readonly fix?: string | undefined
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
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'skill' | 'server' | 'error' | 'unknown'
  readonly verdict: Explanation
  /** True if a request for it would be answered. For an error id: true if it is known. */
  readonly answered: boolean
  readonly server?: string | undefined
  /** The state of that server, and the age of its list. */
  readonly about?: string | undefined
  /** The server's own name of it. */
  readonly own?: string | undefined
  readonly causes: readonly Reason[]
  /** The fix of the error, or of the first cause with one. */
  readonly fix?: string | undefined
  /** The error with the requested id. */
  readonly error?: KeptError | undefined
}

type Position = Pick<Reason, 'pattern' | 'file' | 'line' | 'column'>

/** Returns a cause with its texts, and the verdict that its code begins with. */
export const reason = (found: Cause, more: Position & { readonly verdict?: Explanation } = {}): Reason => {
  const { code, id, message, fix } = explain(found)
  return {
    verdict: familyOf(code) as Explanation,
    code,
    words: message,
    doctor: id,
    fix: fix === '' ? undefined : fix,
    ...more,
  }
}

/** Adds the fix of the first cause with one, unless there is a fix. */
export const withFix = (why: Why): Why => ({
  ...why,
  fix: why.fix ?? why.causes.find(({ fix }) => fix !== undefined)?.fix,
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
  const { name } = status
  const server = router.pool.servers.find(one => one.name === name)
  const answer = server && logins.problemOf(server.options)
  const causes = stateCauses(status)
  if (answer === undefined) return causes
  return [...causes, reason(cause('D036.last-answer', { server: name, answer }), { verdict: 'needs-login' })]
}

const stateCauses = (status: ServerStatus): readonly Reason[] => {
  const { name, state, remarks, lastFault } = status
  const verdict = STATES[state] ?? 'needs-login'
  const fault = lastFault && { id: lastFault.id, message: lastFault.message.replaceAll('\n', ' ') }
  return [
    ...(verdict === 'shown' ? [] : absenceCauses(status).map(found => ({ ...found, verdict }))),
    ...remarks.map(({ cause: found, message }) => ({ ...reason(found), words: `it ${message}` })),
    ...(fault === undefined ? [] : [reason(cause('remark.error', fault, name))]),
  ]
}

const SAID_LINES = 5

const absenceCauses = (status: ServerStatus): readonly Reason[] => {
  const { state, why, cause: absent, stderr, retryMs = 0, failures } = status
  const lines = errorLines(stderr ?? [], SAID_LINES)
  return [
    ...(state === 'idle' ? [reason(cause('resting', {}))] : []),
    ...(state === 'starting' ? [reason(cause('starting', {}))] : []),
    ...(why === undefined ? lastFailure(status) : []),
    ...(why !== undefined && absent !== undefined ? [{ ...reason(absent), words: why }] : []),
    ...(state === 'failed' && status.retryMs !== undefined
      ? [reason(cause('failed.count', { count: failures }))]
      : []),
    ...(retryMs > 0 ? [reason(cause('failed.retry', { seconds: Math.ceil(retryMs / 1000) }))] : []),
    ...lines.map(line => reason(cause('failed.output', { line }))),
  ]
}

/** Returns the last failure of a server that is restarting. */
const lastFailure = ({ state, failures, lastError, cause: absent }: ServerStatus): readonly Reason[] => {
  if (state !== 'starting' || failures === 0 || lastError === undefined) return []
  const { message, agoMs, doctor } = lastError
  const times = failures === 1 ? 'once' : `${failures} times in a row`
  const fix = absent && explain(absent).fix
  return [{ ...reason(cause('starting.failed', { times, age: ageText(agoMs), message })), doctor, fix }]
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

/** A cached list does not record whether it was truncated. */
export const isFull = (known: { readonly length: number } | undefined, { bounds }: Server): boolean =>
  known !== undefined && known.length >= bounds.max.items
