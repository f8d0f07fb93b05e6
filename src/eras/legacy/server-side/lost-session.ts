import { memberOf, stringOf } from '../../../kernel/json/text.js'
import { errorCode } from '../../../model/rpc-error.js'
import { type OwnId, ownIdOf } from '../../../rpc/channel/pending-requests.js'
import { type HttpRefusal, hasChallenge, reasonIn } from '../../../rpc/http/refusal.js'
import { classify } from '../../../wire/classify.js'

/** Facts about our session that decide whether a refusal means its loss. */
export interface SessionHistory {
  /** True if the server issued an id. */
  readonly hasId: boolean
  /** True if the server accepted a message in it. */
  readonly hasWorked: boolean
}

/** The meaning of a status for the session: it is lost, or lost if the text names it. */
type Sign = 'lost' | 'lost-without-challenge' | 'named' | 'unrelated'

/** Signs of single statuses; every other one from 400 to 499 is `named`. */
const SIGNS: ReadonlyMap<number, Sign> = new Map([
  // The specified one (transports, "Session Management", 4), and its synonym.
  [404, 'lost'],
  [410, 'lost'],
  // Without a challenge no login is missing: servers of the Rust SDK answer this for an unknown session.
  [401, 'lost-without-challenge'],
  [503, 'named'],
  // Requests that are too large, too slow or too many.
  ...[402, 405, 407, 408, 413, 414, 415, 425, 429, 431, 451].map(status => [status, 'unrelated'] as const),
])

const signOf = (refusal: HttpRefusal): Sign => {
  const { status } = refusal
  const sign = SIGNS.get(status) ?? (status >= 400 && status < 500 ? 'named' : 'unrelated')
  return sign === 'lost-without-challenge' && hasChallenge(refusal) ? 'unrelated' : sign
}

/** Words of servers that do not know the session, or have not seen its `initialize`; without spaces. */
const SIGNS_OF_LOSS: readonly string[] = [
  'session',
  'notinitiali',
  'notbeeninitiali',
  'notyetinitiali',
  'uninitiali',
]

const isAbout = (text: string): boolean => {
  const letters = text.toLowerCase().replaceAll(/[^a-z]/g, '')
  return SIGNS_OF_LOSS.some(sign => letters.includes(sign))
}

/** Codes of SDK servers for requests that they did not read, even with the id of the request. */
const UNREAD: ReadonlySet<number> = new Set([-32000, -32001, -32600])
/** The code of SDK servers for an unknown session. */
const UNKNOWN_SESSION = -32001

/** The time for the answer to a ping that shows whether the server knows the session. */
export const PROBE_MS = 5000

/**
 * How sure a refusal makes us that the session is lost: by its status alone, by its text, or not at all. A
 * server that refuses with 400 and gives no reason may mean anything.
 */
export type SessionLoss = 'certain' | 'named' | 'unexplained' | 'none'

/**
 * Returns how far an HTTP error means that the server does not know our session, so that it did not run the
 * request. Only 404 is specified, but servers also answer with 400, 401, 403, 422 or 503 and a text about it.
 * `answer` is the error under the request's own id, which proves that the server read the request.
 */
export const sessionLossIn = (
  refusal: HttpRefusal,
  history: SessionHistory,
  answer: AnswerToUs = 'none',
): SessionLoss => {
  const sign = signOf(refusal)
  if (answer === 'result' || sign === 'unrelated') return 'none'
  if (answer !== 'none') return lossInAnswer(answer, refusal, history)
  const { hasId, hasWorked } = history
  if (hasId && (sign === 'lost' || (sign === 'lost-without-challenge' && hasWorked))) return 'certain'
  return hasWorked ? lossInText(refusal, hasId) : 'none'
}

const lossInText = (refusal: HttpRefusal, hasId: boolean): SessionLoss => {
  if (namesSession(refusal)) return 'named'
  return hasId && refusal.status === 400 && refusal.text.trim() === '' ? 'unexplained' : 'none'
}

/** The message of the error under our id, if the body of an HTTP error is one. */
export type AnswerToUs = 'none' | 'result' | { readonly code: number; readonly message: string }

/** Reads the answer to a request in the body of an HTTP error. */
export const answerIn = (body: Buffer, id: OwnId): AnswerToUs => {
  const classified = classify(body)
  if (classified.is !== 'message') return 'none'
  const { message } = classified
  if (!('id' in message) || ownIdOf(message.id) !== id || message.kind === 'request') return 'none'
  if (message.kind === 'result') return 'result'
  return { code: errorCode(message.error) ?? 0, message: stringOf(memberOf(message.error, 'message')) ?? '' }
}

/** An error about the parameters of a request, or an unknown name in it, is not about our session. */
const lossInAnswer = (
  { code, message }: Exclude<AnswerToUs, string>,
  { status }: HttpRefusal,
  { hasId, hasWorked }: SessionHistory,
): SessionLoss => {
  if (hasId && status === 404 && code === UNKNOWN_SESSION) return 'certain'
  return hasWorked && UNREAD.has(code) && isAbout(message) ? 'named' : 'none'
}

const namesSession = (refusal: HttpRefusal): boolean =>
  isAbout(`${refusal.statusText} ${reasonIn(refusal) ?? ''}`)

/** Describes the loss with the server's own reason. */
export const lossText = (refusal: HttpRefusal): string => {
  const reason = reasonIn(refusal)
  const said = reason === undefined ? '' : `: ${reason}`
  return `The server no longer knows the session (HTTP status ${refusal.status}${said})`
}
