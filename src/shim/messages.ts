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

/** The daemon applies the configured limits; this only protects the stack. */
const LIMITS = { depth: 1000, members: Number.MAX_SAFE_INTEGER, batch: 10_000 }
/** An empty JSON object. */
export const NO_MESSAGE = rawText('{}')

/** Returns the messages of a line: one, those of a batch, or none. */
export const messagesOf = (line: Buffer): readonly Message[] => messagesIn(classify(line, LIMITS))

/** Does the same for the daemon, whose results have one known form and need not be parsed. */
export const messagesOfDaemon = (line: Buffer): readonly Message[] => {
  const result = writtenResult(line)
  return result === undefined ? messagesOf(line) : [result]
}

const messagesIn = (found: Classified): readonly Message[] => {
  if (found.is === 'message') return [found.message]
  if (found.is === 'batch') return found.items.flatMap(messagesIn)
  const { id, hasMethod, isResponse } = found
  if (id === undefined) return []
  // The daemon answers the invalid message with an error under this id.
  if (hasMethod) return [{ kind: 'request', id, method: '', params: undefined }]
  return isResponse ? [{ kind: 'result', id, result: NO_MESSAGE }] : []
}

/** Returns the string value of a member. */
export const textIn = (object: JsonText | undefined, name: string): string | undefined =>
  object && stringOf(memberOf(object, name))

const INTERNAL = -32603

/**
 * Creates the error for a request while the daemon is gone. Its id belongs to no run of a daemon, so
 * `mcp-proxy why` cannot explain it further.
 */
export const lostError = (id: JsonText, message: string, data: object): Buffer => {
  const errorId = newErrorId(INTERNAL, message)
  return encodeError(
    id,
    textOf({ code: INTERNAL, message: `${message} (${errorId})`, data: { ...data, errorId } }),
  )
}

/** Cancels a question to the client. */
export const withdrawal = (id: JsonText): Buffer =>
  encodeNotification('notifications/cancelled', withMember(NO_MESSAGE, 'requestId', id))

/** Replaces the id of a request line. */
export const withId = (line: Buffer, id: string): Buffer => withMember(readJson(line), 'id', textOf(id))

/** Reports whether an error carries the daemon's refusal, so that its request was not started. */
export const isRefusal = (error: JsonText, word: string | undefined): boolean =>
  word !== undefined && textIn(memberOf(error, 'data'), 'refusal') === word
