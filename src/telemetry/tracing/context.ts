import type { SpanContext } from '../../model/call-trace.js'

const HEX = '[0-9a-f]'
const TRACE_PARENT = new RegExp(
  `^(?!ff)${HEX}{2}-(?!0{32})${HEX}{32}-(?!0{16})${HEX}{16}-${HEX}{2}(?:-.*)?$`,
  's',
)
/** Sampled and random. Unknown flags become 0. */
const KNOWN_FLAGS = 0x03
const PARENT_LEAST = 55
const PARENT_MOST = 512

/** Parses a `traceparent` (W3C Trace Context, Level 2). Returns undefined if it is invalid. */
export const readParent = (text: string | undefined): SpanContext | undefined => {
  if (text === undefined || text.length < PARENT_LEAST || text.length > PARENT_MOST) return undefined
  if (!TRACE_PARENT.test(text)) return undefined
  // Version 00 allows no further text.
  if (text.length > PARENT_LEAST && text.startsWith('00')) return undefined
  const flags = Number.parseInt(text.slice(53, 55), 16) & KNOWN_FLAGS
  return { traceId: text.slice(3, 35), spanId: text.slice(36, 52), flags }
}

const MEMBERS_MOST = 32
/** A forwarded `tracestate` must keep at least 512 characters. */
const STATE_MOST = 1024
const KEY = '[a-z][a-z0-9_\\-*/]{0,255}|[a-z0-9][a-z0-9_\\-*/]{0,240}@[a-z][a-z0-9_\\-*/]{0,13}'
const MEMBER = new RegExp(`^(?:${KEY})=[ -+\\--<>-~]{0,255}[!-+\\--<>-~]$`)

/**
 * Returns the members of a `tracestate` next to a valid `traceparent`, in order, truncated at the end.
 * Returns undefined if they are invalid.
 */
export const readTraceState = (text: string | undefined): string | undefined => {
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

/** Returns the members of a `baggage` header (W3C Baggage) with one of these keys. */
export const readBaggage = (text: string | undefined, keys: ReadonlySet<string>): string | undefined => {
  if (text === undefined || text.length > BAGGAGE_MOST || keys.size === 0) return undefined
  const members = text
    .split(',')
    .map(member => member.trim())
    .filter(member => keys.has(member.split(/[=;]/, 1)[0]?.trim() ?? '') && /^[!-~ \t]+$/.test(member))
  return members.length === 0 ? undefined : members.join(',')
}
