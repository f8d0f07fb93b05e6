import type { SpanContext } from '../../model/call-trace.js'

/** A trace that a request says it belongs to. */
export interface RemoteContext extends SpanContext {
  /** As it came, if that is fit to be passed on. */
  readonly state: string | undefined
}

const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/s
const ZEROS = /^0+$/
/** Sampled, and random; flags that nobody knows become 0. */
const KNOWN_FLAGS = 0x03
const PARENT_LEAST = 55
const PARENT_MOST = 512

/**
 * Reads W3C Trace Context (Level 2): undefined unless `traceparent` is valid, and then `tracestate` does not
 * count either. A bad `tracestate` leaves `traceparent` alone.
 */
export const readContext = (
  traceparent: string | undefined,
  tracestate: string | undefined,
): RemoteContext | undefined => {
  const parent = traceparent === undefined ? undefined : readParent(traceparent)
  return parent && { ...parent, state: readState(tracestate) }
}

const readParent = (text: string): SpanContext | undefined => {
  if (text.length < PARENT_LEAST || text.length > PARENT_MOST) return undefined
  const [all, traceId = '', spanId = '', flags = ''] = TRACE_PARENT.exec(text.trim()) ?? []
  if (all === undefined || ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  // Of version 00 nothing may follow.
  if (all.length > PARENT_LEAST && all.startsWith('00')) return undefined
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & KNOWN_FLAGS }
}

const MEMBERS_MOST = 32
/** Whoever passes a state on has to pass on 512 characters at least. */
const STATE_MOST = 1024
const KEY = '[a-z][a-z0-9_\\-*/]{0,255}|[a-z0-9][a-z0-9_\\-*/]{0,240}@[a-z][a-z0-9_\\-*/]{0,13}'
const MEMBER = new RegExp(`^(?:${KEY})=[ -+\\--<>-~]{0,255}[!-+\\--<>-~]$`)

/** The members of `tracestate` in their order, cut from the end; undefined if they are not valid. */
const readState = (text: string | undefined): string | undefined => {
  if (text === undefined || text.length > 16 * STATE_MOST) return undefined
  const members = text
    .split(',')
    .map(member => member.trim())
    .filter(member => member !== '')
  const keys = new Set(members.map(member => member.slice(0, member.indexOf('='))))
  const isValid = members.length <= MEMBERS_MOST && keys.size === members.length
  if (members.length === 0 || !isValid || !members.every(member => MEMBER.test(member))) return undefined
  while (members.join(',').length > STATE_MOST) members.pop()
  return members.join(',')
}

const BAGGAGE_MOST = 8192

/** The members of a `baggage` header (W3C Baggage) that have one of these keys. */
export const readBaggage = (text: string | undefined, keys: ReadonlySet<string>): string | undefined => {
  if (text === undefined || text.length > BAGGAGE_MOST || keys.size === 0) return undefined
  const members = text
    .split(',')
    .map(member => member.trim())
    .filter(member => keys.has(member.split(/[=;]/, 1)[0]?.trim() ?? '') && /^[!-~ \t]+$/.test(member))
  return members.length === 0 ? undefined : members.join(',')
}
