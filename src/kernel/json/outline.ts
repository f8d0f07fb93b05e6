import { endsIn, knownEnd, LONG_BYTES, rememberEnd } from './long-values.js'
import { findSpecial, QUOTE } from './scan.js'

/** Stands in an outline for what a long string holds: a byte that no UTF-8 has. */
export const LEFT_OUT = '\xff'

/** How long an outline may be; nothing is left out of a text that is no longer. */
const OUTLINE_BYTES = 1024

/** From outside of all strings up to the last one that begins. */
const OPENING = /^[^"]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"]*)*"/

/**
 * A text of UTF-8 in latin1, with `LEFT_OUT` for what its long strings hold: JSON exactly if the text is.
 * Regular expressions read it as fast as any short text, and V8 compiles those at once. Undefined if there is
 * too much beside strings of at least `LONG_BYTES`, or one that nobody has passed before holds an escape with
 * `\u`.
 */
export function outlineOf(bytes: Buffer): string | undefined {
  if (bytes.length > OUTLINE_BYTES && bytes.length < LONG_BYTES) return undefined
  let outline = ''
  let from = 0
  for (let room = OUTLINE_BYTES; bytes.length - from > room; room = OUTLINE_BYTES - outline.length) {
    const [before] = OPENING.exec(bytes.toString('latin1', from, from + room)) ?? []
    if (before === undefined) return undefined
    from = endOfLong(bytes, from + before.length - 1)
    if (from === 0) return undefined
    outline += `${before}${LEFT_OUT}"`
  }
  return outline + bytes.toString('latin1', from)
}

/** Whether an outline, or a part of one, is a value; what is not there is fine. */
export function isJson(outline: string | undefined): boolean {
  if (outline === undefined) return true
  try {
    JSON.parse(outline)
    return true
  } catch {
    return false
  }
}

/** Behind the long string whose opening quote is at `start`; 0 if it is short, or ends nowhere in sight. */
function endOfLong(bytes: Buffer, start: number): number {
  const known = knownEnd(bytes, start, endsIn(bytes))
  if (known !== undefined) return known
  const end = findSpecial(bytes, start + 1) + 1
  if (bytes[end - 1] !== QUOTE || end - start < LONG_BYTES) return 0
  // In what is no JSON this may be no string; but then nobody looks for what is remembered of it.
  rememberEnd(bytes, start, end)
  return end
}
