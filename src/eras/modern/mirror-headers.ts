import { isUtf8 } from 'node:buffer'
import { at, EMPTY, type JsonText, kindOf, memberOf, stringOf } from '../../kernel/json/text.js'
import { shortName } from '../../kernel/secrets/mask.js'
import type { HttpHeaders } from '../../wire/http.js'
import { type Message, metaOf } from '../../wire/jsonrpc.js'
import { readClaim } from './envelope.js'
import { NAMED_BY } from './methods.js'
import { type ParamHeaders, paramHeadersOf } from './param-headers.js'

// Header values (basic/transports/streamable-http, "Value Encoding"): anything but plain ASCII is sent as
// base64 of its UTF-8 between two markers.

const OPEN = '=?base64?'
const CLOSE = '?='

const hasMarks = (text: string): boolean => text.startsWith(OPEN) && text.endsWith(CLOSE)

/** Printable ASCII and tabs, without surrounding whitespace, which header parsers strip. */
const PLAIN = /^[!-~](?:[\t -~]*[!-~])?$/

/**
 * Encodes a value if it is empty, not plain, or looks encoded already.
 *
 * @internal
 */
export const encodeHeaderValue = (value: string): string =>
  PLAIN.test(value) && !hasMarks(value) ? value : `${OPEN}${Buffer.from(value).toString('base64')}${CLOSE}`

/** Strips surrounding spaces and tabs (RFC 9110 §5.5). */
const trimHeader = (text: string): string => {
  let from = 0
  let to = text.length
  while (isPadding(text[from])) from += 1
  while (to > from && isPadding(text[to - 1])) to -= 1
  return text.slice(from, to)
}

const isPadding = (char: string | undefined): boolean => char === ' ' || char === '\t'

/** Matches legal header text; other bytes arrive as ISO 8859-1, regardless of their encoding. */
const LEGAL = /^[\t -~]*$/

/**
 * Decodes a header; undefined for illegal characters, or marked base64 that is not canonical (RFC 4648 §4).
 *
 * @internal
 */
export const decodeHeaderValue = (text: string): string | undefined => {
  const value = trimHeader(text)
  if (!LEGAL.test(value)) return undefined
  // In `=?base64?=` the two markers would overlap.
  if (!hasMarks(value) || value.length < OPEN.length + CLOSE.length) return value
  const base64 = value.slice(OPEN.length, -CLOSE.length)
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 && isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

// Headers repeat parts of the body (ibid., "Request Metadata"). They must not differ, because intermediaries
// may have used them for decisions.

const VERSION = 'MCP-Protocol-Version'
const METHOD = 'Mcp-Method'
const NAME = 'Mcp-Name'
const PARAM = 'Mcp-Param-'
/** Header names in lower case, as in Node. */
const KEYS: ReadonlyMap<string, string> = new Map(
  [VERSION, METHOD, NAME].map(name => [name, name.toLowerCase()]),
)

/** Bounds quotes of a header or body in an error. */
const SHOWN_LENGTH = 128

/**
 * Returns the headers that repeat the body of a request to a modern server, except `MCP-Protocol-Version`;
 * `inputSchema` belongs to the server's tool.
 */
export const mirrorHeaders = (
  method: string,
  params: JsonText | undefined,
  inputSchema?: JsonText,
): Record<string, string> => {
  const headers: Record<string, string> = { [METHOD]: encodeHeaderValue(method) }
  const name = nameOf(method, params)
  if (name !== undefined) headers[NAME] = encodeHeaderValue(name)
  for (const [header, path] of inputSchema === undefined ? [] : paramHeadersOf(inputSchema).headers) {
    const value = textOfArgument(argumentAt(params, path))
    if (value !== undefined) headers[PARAM + header] = encodeHeaderValue(value)
  }
  return headers
}

/**
 * Returns the message of error `-32020` if headers contradict the body; undefined if they match. `mirrored`
 * comes from the tool as listed; other parameter headers are ignored.
 */
export const checkHeaders = (
  headers: HttpHeaders,
  message: Message & { readonly kind: 'request' },
  mirrored?: ParamHeaders['headers'],
): string | undefined =>
  problemOfPlain(headers, VERSION, readClaim(metaOf(message)).claim ?? '') ??
  problemOfPlain(headers, METHOD, message.method) ??
  problemOfName(headers, message) ??
  (mirrored && problemOfArguments(headers, message.params, mirrored))

/**
 * Returns a contradiction between the version header and an unsupported version in the body; a missing header
 * is allowed.
 */
export const checkVersionHeader = (headers: HttpHeaders, claim: string): string | undefined =>
  headerOf(headers, VERSION) === undefined ? undefined : problemOfPlain(headers, VERSION, claim)

/**
 * Returns a header. Repeated ones arrive joined by a comma and a space, which only a URI may contain, so that
 * other headers mismatch.
 */
const headerOf = (headers: HttpHeaders, name: string): string | undefined =>
  headers[KEYS.get(name) ?? name.toLowerCase()]

const missing = (name: string): string => `Missing required header ${name}`

const shown = (text: string): string => `'${shortName(text, SHOWN_LENGTH)}'`

const differs = (name: string, header: string, body: string): string =>
  `Header mismatch: ${name} ${shown(header)} does not match body ${shown(body)}`

const problemOfPlain = (headers: HttpHeaders, name: string, body: string): string | undefined => {
  const header = headerOf(headers, name)
  if (header === undefined) return missing(name)
  return trimHeader(header) === body ? undefined : differs(name, header, body)
}

const problemOfCoded = (
  headers: HttpHeaders,
  name: string,
  body: string,
  isSame: (decoded: string) => boolean,
): string | undefined => {
  const header = headerOf(headers, name)
  if (header === undefined) return missing(name)
  const decoded = decodeHeaderValue(header)
  if (decoded === undefined)
    return `Header mismatch: ${name} is neither plain ASCII nor canonical base64 of UTF-8`
  return isSame(decoded) ? undefined : differs(name, decoded, body)
}

/** A missing name is left to the validation of params, whose error is more helpful. */
const problemOfName = (
  headers: HttpHeaders,
  { method, params, named }: Message & { readonly kind: 'request' },
): string | undefined => {
  const name = NAMED_BY.get(method) === 'name' && named !== undefined ? named : nameOf(method, params)
  return name === undefined ? undefined : problemOfCoded(headers, NAME, name, decoded => decoded === name)
}

const nameOf = (method: string, params: JsonText | undefined): string | undefined => {
  const member = NAMED_BY.get(method)
  return member === undefined || params === undefined ? undefined : stringOf(memberOf(params, member))
}

const problemOfArguments = (
  headers: HttpHeaders,
  params: JsonText | undefined,
  mirrored: ParamHeaders['headers'],
): string | undefined => {
  for (const [header, path] of mirrored) {
    const argument = argumentAt(params, path)
    const value = textOfArgument(argument)
    if (argument === undefined || value === undefined) continue
    const isSame = (decoded: string): boolean =>
      kindOf(argument) === 'number'
        ? isNumber(decoded) && Number(decoded) === Number(value)
        : decoded === value
    const problem = problemOfCoded(headers, PARAM + header, value, isSame)
    if (problem !== undefined) return problem
  }
  return undefined
}

const argumentAt = (params: JsonText | undefined, path: readonly string[]): JsonText | undefined =>
  at(params ?? EMPTY, 'arguments', ...path)

/**
 * Returns an argument as header text; undefined for `null`, objects, lists, and numbers without an exact
 * double, which the two sides might compare differently.
 */
const textOfArgument = (argument: JsonText | undefined): string | undefined => {
  if (argument === undefined) return undefined
  const kind = kindOf(argument)
  if (kind === 'string') return stringOf(argument)
  if (kind === 'boolean') return argument.toString('latin1')
  return kind === 'number' ? numberText(Number(argument.toString('latin1'))) : undefined
}

const numberText = (value: number): string | undefined => {
  const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
  // `-0` becomes 0, which compares equal.
  return isExact ? String(value) : undefined
}

/** JSON's grammar: `Number` would also accept hexadecimal, spaces and the empty string. */
const isNumber = (text: string): boolean => /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)
