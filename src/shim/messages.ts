import { newErrorId } from '../kernel/error-ids.js'
import {
  type JsonText,
  memberOf,
  rawText,
  readJson,
  stringOf,
  textOf,
  withMember,
} from '../kernel/json/text.js'
import { type Classified, classify } from '../wire/classify.js'
import { encodeError, encodeNotification, type Message, writtenResult } from '../wire/jsonrpc.js'

/** What the daemon refuses is its own affair: here only a nesting is refused that would exhaust the stack. */
const LIMITS = { depth: 1000, members: Number.MAX_SAFE_INTEGER, batch: 10_000 }
/** An empty object. */
export const NOTHING = rawText('{}')

/** The messages of a line: one, those of a batch, or none. */
export const messagesOf = (line: Buffer): readonly Message[] => messagesIn(classify(line, LIMITS))

/**
 * The same of the daemon, which writes results in one way: what may be long is not looked at, and what that
 * takes is never compiled.
 */
export const messagesOfDaemon = (line: Buffer): readonly Message[] => {
  const result = writtenResult(line)
  return result === undefined ? messagesOf(line) : [result]
}

const messagesIn = (found: Classified): readonly Message[] => {
  if (found.is === 'message') return [found.message]
  if (found.is === 'batch') return found.items.flatMap(messagesIn)
  const { id, hasMethod, isResponse } = found
  if (id === undefined) return []
  // The other side finds fault with it, and answers under this id, or has answered so.
  if (hasMethod) return [{ kind: 'request', id, method: '', params: undefined }]
  return isResponse ? [{ kind: 'result', id, result: NOTHING }] : []
}

/** What a text means that is a member of an object. */
export const textIn = (object: JsonText | undefined, name: string): string | undefined =>
  object && stringOf(memberOf(object, name))

const INTERNAL = -32603

/**
 * The error that ends a request in place of a daemon that is not there. Its id is of a run that no daemon
 * knows, so `mcp-proxy why` says no more than that.
 */
export const lostError = (id: JsonText, message: string, data: object): Buffer => {
  const errorId = newErrorId(INTERNAL, message)
  return encodeError(
    id,
    textOf({ code: INTERNAL, message: `${message} (${errorId})`, data: { ...data, errorId } }),
  )
}

/** Tells the client that a question is no longer asked. */
export const withdrawal = (id: JsonText): Buffer =>
  encodeNotification('notifications/cancelled', withMember(NOTHING, 'requestId', id))

/** A line with a request, under another id. */
export const withId = (line: Buffer, id: string): Buffer => withMember(readJson(line), 'id', textOf(id))

/** Whether an error says that its request was not begun, as a daemon that ends says under this word. */
export const isRefusal = (error: JsonText, word: string | undefined): boolean =>
  word !== undefined && textIn(memberOf(error, 'data'), 'refusal') === word
