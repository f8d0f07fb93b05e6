import type { HttpHeaders } from './http.js'

/** The type that a `Content-Type` names, in lower case and without parameters; empty when there is none. */
export function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === 'application/json') return contentType
  const [type = ''] = (contentType ?? '').split(';', 1)
  return type.trim().toLowerCase()
}

/**
 * Whether an `Accept` header allows a media type (lower case, without parameters), by RFC 9110 §12.5.1: the
 * most specific range decides, and `q=0` means no. A missing or blank header allows everything; parameters
 * other than `q` are ignored, because clients add `charset` to types that have none.
 */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined || accept.trim() === '') return true
  // Clients send the same few headers with every request: reading one costs as much as a whole small message.
  let known = knownOf.get(type)
  if (known === undefined) {
    known = new Map()
    knownOf.set(type, known)
  }
  let isAccepted = known.get(accept)
  if (isAccepted === undefined) {
    isAccepted = isAcceptedBy(accept, type)
    if (known.size >= KNOWN_MAX) known.clear()
    if (accept.length <= KNOWN_CHARS) known.set(accept, isAccepted)
  }
  return isAccepted
}

const KNOWN_MAX = 100
const KNOWN_CHARS = 256
/** By type, of which we ask for two, and then by header. */
const knownOf = new Map<string, Map<string, boolean>>()

function isAcceptedBy(accept: string, type: string): boolean {
  const ranges = withoutQuotes(accept).split(',')
  const group = `${type.slice(0, type.indexOf('/'))}/*`
  for (const wanted of [type, group, '*/*']) {
    const named = ranges.filter(range => mediaTypeOf(range) === wanted)
    if (named.length > 0) return named.some(range => !isRefused(range))
  }
  return false
}

/** Commas and semicolons inside a quoted parameter separate nothing; nobody reads what stands there. */
const withoutQuotes = (header: string): string => header.replaceAll(/"(?:\\[\s\S]|[^"\\])*(?:"|\\?$)/g, '""')

const isRefused = (range: string): boolean =>
  range.split(';').some(parameter => /^\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(parameter))

/** Whether the client takes an answer as one JSON text. */
export const takesJson = ({ accept }: HttpHeaders): boolean => accepts(accept, 'application/json')

/** Whether the client takes an answer as an event stream. */
export const takesEvents = ({ accept }: HttpHeaders): boolean => accepts(accept, 'text/event-stream')
