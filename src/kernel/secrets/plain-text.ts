const ESC = '\u001b'
const BEL = '\u0007'

// ECMA-48: control sequences (§5.4), control strings up to a BEL or ST (§5.6), other escapes (ECMA-35 §13).
const ESCAPES = `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}[\\]PX^_][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?|${ESC}[ -/]*[0-~]`

// Control characters except line breaks and tabs, and format characters that reorder text (UAX #9, table 4).
const INVISIBLE = '(?![\\n\\t])[\\p{Cc}\\p{Zl}\\p{Zp}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]'

const UNSEEN = new RegExp(`${ESCAPES}|${INVISIBLE}`, 'gu')

/**
 * Makes a text safe for a terminal: keeps lines and tabs, removes everything that moves the cursor or hides
 * text.
 */
export const plainText = (text: string): string => text.replace(UNSEEN, '')

/** Shows invisible characters as `U+001B`, for names in which they matter. */
export const visibleText = (text: string): string =>
  text.replace(
    INVISIBLE_SIGN,
    sign => `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  )

const INVISIBLE_SIGN = new RegExp(INVISIBLE.replace('(?![\\n\\t])', ''), 'gu')

export const plainLine = (text: string): string => plainText(text.replace(/[\t\r\n]+/g, ' '))

/** Returns the visible part of a line that was redrawn, such as a progress bar. */
export const drawnLine = (line: string): string => {
  const drawn = line.replace(/\r+$/, '')
  return plainLine(drawn.slice(drawn.lastIndexOf('\r') + 1))
}

const CUT = ' [cut]'

/** Truncates a text at `maxBytes` of UTF-8 and marks the cut, as also for a text that is not whole. */
export const cutText = (text: string, maxBytes: number, isWhole = true): string => {
  if (isWhole && (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes)) return text
  const kept = Buffer.from(text.slice(0, maxBytes)).subarray(0, maxBytes - CUT.length)
  // The cut may split a character.
  return kept.toString().replace(/\ufffd$/, '') + CUT
}
