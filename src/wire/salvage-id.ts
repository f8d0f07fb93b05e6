import { type JsonText, JsonTextError, readJson } from '../kernel/json/text.js'

/** The inspected bytes at either end of an unreadable message. */
export const END_BYTES = 1024

/** The readable parts of a message that is invalid JSON or too long to keep. */
export interface SalvagedId {
  /** The only id in a usual position: before the long members, or at the very end. */
  readonly id: JsonText | undefined
  readonly hasMethod: boolean
  /** True for an apparent answer, or a batch that begins with one. */
  readonly isResponse: boolean
}

const SHORT = String.raw`"(jsonrpc|id|method)"\s*:\s*(-?\d{1,16}(?:\.0{1,16})?|"(?:[^"\\]|\\.){1,512}")\s*`
const FRONT = new RegExp(String.raw`^\s*\{\s*(?:${SHORT},\s*)*"(result|error|params|method)"\s*:`)
const BACK = new RegExp(String.raw`(?:,\s*${SHORT})+\}\s*$`)
const EACH = new RegExp(SHORT, 'g')

/** Reads the recognizable parts of a message; `bytes` are all of it, or its first and last ones. */
export const salvageId = (bytes: Buffer): SalvagedId => {
  const head = bytes.toString('latin1', 0, END_BYTES)
  const front = FRONT.exec(head)
  if (front === null) return { id: undefined, hasMethod: false, isResponse: looksLikeResponse(head) }
  const back = BACK.exec(bytes.toString('latin1', Math.max(0, bytes.length - END_BYTES)))
  const members = [...`${front[0]} ${back?.[0]}`.matchAll(EACH)]
  const ids = new Set(members.flatMap(([, key, value = '']) => (key === 'id' ? [value] : [])))
  const [id] = ids
  const isResponse = front[3] === 'result' || front[3] === 'error'
  // A repeated id makes the message malformed, but is still unambiguous.
  return {
    id: id !== undefined && ids.size === 1 ? readId(id) : undefined,
    hasMethod: !isResponse,
    isResponse,
  }
}

const readId = (text: string): JsonText | undefined => {
  try {
    return readJson(Buffer.from(text, 'latin1'))
  } catch (error) {
    if (error instanceof JsonTextError) return undefined
    throw error
  }
}

/** Returns whether a text in an unusual spelling still looks like an answer. */
const looksLikeResponse = (head: string): boolean =>
  /^\s*[[{]/.test(head) && /"(?:result|error)"\s*:/.test(head) && !/"method"\s*:/.test(head)
