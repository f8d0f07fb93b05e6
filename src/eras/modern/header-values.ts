import { isUtf8 } from 'node:buffer'

// Names and arguments in HTTP headers (basic/transports/streamable-http, "Value Encoding"): what a header can
// say as it is stays, everything else is base64 of its UTF-8 between two marks.

const OPEN = '=?base64?'
const CLOSE = '?='

const hasMarks = (text: string): boolean => text.startsWith(OPEN) && text.endsWith(CLOSE)

/** Printable ASCII and tabs, without spaces or tabs around it, which whoever reads a header takes away. */
const PLAIN = /^[!-~](?:[\t -~]*[!-~])?$/

/**
 * A value as a header says it; a plain one that looks as if it was encoded, and an empty one, are encoded
 * too.
 */
export const encodeHeaderValue = (value: string): string =>
  PLAIN.test(value) && !hasMarks(value) ? value : `${OPEN}${Buffer.from(value).toString('base64')}${CLOSE}`

/** A header's value without the spaces and tabs around it, which are not part of it (RFC 9110 §5.5). */
export const trimHeader = (text: string): string => {
  let from = 0
  let to = text.length
  while (isPadding(text[from])) from += 1
  while (to > from && isPadding(text[to - 1])) to -= 1
  return text.slice(from, to)
}

const isPadding = (char: string | undefined): boolean => char === ' ' || char === '\t'

/** What may stand in a header at all; other bytes arrive as characters of ISO 8859-1, whatever they meant. */
const LEGAL = /^[\t -~]*$/

/**
 * What a header says; undefined if it has illegal characters, or is marked as encoded and is not padded
 * base64 of UTF-8 in its one canonical spelling (RFC 4648 §4).
 */
export const decodeHeaderValue = (text: string): string | undefined => {
  const value = trimHeader(text)
  if (!LEGAL.test(value)) return undefined
  // In `=?base64?=` the marks would share a character.
  if (!hasMarks(value) || value.length < OPEN.length + CLOSE.length) return value
  const base64 = value.slice(OPEN.length, -CLOSE.length)
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 && isUtf8(bytes) ? bytes.toString('utf8') : undefined
}
