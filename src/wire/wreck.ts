import type { JsonText } from '../kernel/json-text.js'
import { rawText } from '../kernel/json-text.js'

/** How much of either end of an unreadable message is looked at. */
export const WRECK_BYTES = 256

const VERSION = '(?:"jsonrpc"\\s*:\\s*"[^"]*"\\s*,\\s*)?'
const ID = '"id"\\s*:\\s*(\\d{1,16}|"[^"\\\\]{1,64}")\\s*'
const OUTCOME = '"(?:result|error)"\\s*:'

// The same id may stand there twice, which makes it no message but leaves no doubt.
const ID_FIRST = new RegExp(
  `^\\s*\\{\\s*${VERSION}${ID}(?:,\\s*"id"\\s*:\\s*\\1\\s*)*,\\s*${VERSION}${OUTCOME}`,
)
const OUTCOME_FIRST = new RegExp(`^\\s*\\{\\s*${VERSION}${OUTCOME}`)
const ID_LAST = new RegExp(`,\\s*${ID}(?:,\\s*"jsonrpc"\\s*:\\s*"[^"]*"\\s*)?\\}\\s*$`)

/**
 * The id of the request that a message answers which is no JSON, or too long to be kept; undefined if it does not look like
 * an answer. Found where encoders put it: before the result, or at the very end. `bytes` may be the two ends alone.
 */
export const answeredIn = (bytes: Buffer): JsonText | undefined => {
  const head = bytes.toString('latin1', 0, WRECK_BYTES)
  const first = ID_FIRST.exec(head)?.[1]
  if (first !== undefined) return rawText(first)
  if (!OUTCOME_FIRST.test(head)) return undefined
  const last = ID_LAST.exec(bytes.toString('latin1', Math.max(0, bytes.length - WRECK_BYTES)))?.[1]
  return last === undefined ? undefined : rawText(last)
}

/** Whether an unreadable message looks like an answer, or like a batch that begins with one. `bytes` as above. */
export const looksAnswering = (bytes: Buffer): boolean => {
  const head = bytes.toString('latin1', 0, WRECK_BYTES)
  return /^\s*[[{]/.test(head) && /"(?:result|error)"\s*:/.test(head) && !/"method"\s*:/.test(head)
}
