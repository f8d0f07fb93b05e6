import type { AcceptedTypes, HttpHeaders } from '../http.js'

/** Returns the media type of a `Content-Type`, in lower case without parameters; empty if there is none. */
export function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === 'application/json') return contentType
  const [type = ''] = (contentType ?? '').split(';', 1)
  return type.trim().toLowerCase()
}

/**
 * Returns whether a media type (lower case) is JSON. Like official SDKs, accepts names that only begin with
 * it, such as `application/json-rpc`.
 */
export const isJsonType = (type: string): boolean => type.startsWith('application/json')

/**
 * Returns whether an `Accept` header allows a media type (lower case, without parameters; RFC 9110 §12.5.1).
 * The most specific range decides, `q=0` means no, and no range allows everything. Other parameters are
 * ignored, because clients add `charset` to types without one. @internal
 */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const ranges = withoutQuotes(accept).split(',')
  const group = `${type.slice(0, type.indexOf('/'))}/*`
  for (const wanted of [type, group, '*/*']) {
    const named = ranges.filter(range => mediaTypeOf(range) === wanted)
    if (named.length > 0) return named.some(range => !isRefused(range))
  }
  return false
}

/** Empties quoted parameters, whose commas and semicolons separate nothing. */
const withoutQuotes = (header: string): string => header.replaceAll(/"(?:\\[\s\S]|[^"\\])*(?:"|\\?$)/g, '""')

const isRefused = (range: string): boolean =>
  range.split(';').some(parameter => /^\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(parameter))

const KNOWN_MAX = 100
const KNOWN_CHARS = 256
const known = new Map<string, AcceptedTypes>()

export function acceptedTypes({ accept = '' }: HttpHeaders): AcceptedTypes {
  // Clients repeat the same few headers: parsing one costs as much as a whole small message.
  let taken = known.get(accept)
  if (taken === undefined) {
    taken = { json: accepts(accept, 'application/json'), events: accepts(accept, 'text/event-stream') }
    if (known.size >= KNOWN_MAX) known.clear()
    if (accept.length <= KNOWN_CHARS) known.set(accept, taken)
  }
  return taken
}

/** Adds the headers of one request; an undefined one is left out. */
export const mergedHeaders = (
  headers: Readonly<Record<string, string>>,
  own: HttpHeaders,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ ...headers, ...own }).filter(
      (header): header is [name: string, value: string] => header[1] !== undefined,
    ),
  )

/**
 * Returns whether a text is a valid `Mcp-Session-Id` (spec 2025-11-25, transports, "Session Management").
 */
export const isVisibleAscii = (text: string): boolean => /^[!-~]+$/.test(text)
