import { type JsonText, trust } from '../../kernel/json/cursor.js'

/** The number of cached texts, and their sizes: parsing shorter ones is as fast as finding them. */
const TEXTS = 16
const LEAST_BYTES = 64
const MOST_BYTES = 2048

/**
 * Memoizes a pure function for recurring texts: keeps the last few results for which `isKept` returns true.
 * `read` gets copies, so that no slice retains its message.
 */
export function remembered<T>(
  read: (text: JsonText) => T,
  isKept: (result: T, text: JsonText) => boolean,
): (text: JsonText) => T {
  const known: { readonly text: JsonText; readonly result: T }[] = []
  let next = 0
  return text => {
    if (text.length < LEAST_BYTES || text.length > MOST_BYTES) return read(text)
    for (const one of known) if (one.text.length === text.length && one.text.equals(text)) return one.result
    const own = trust(Buffer.from(text))
    const result = read(own)
    if (isKept(result, own)) {
      known[next] = { text: own, result }
      next = (next + 1) % TEXTS
    }
    return result
  }
}
