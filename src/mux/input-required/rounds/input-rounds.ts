import {
  isEmpty,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  objectText,
  rawText,
  stringOf,
  withMember,
  withoutMember,
} from '../../../kernel/json/text.js'
import { sanitizeLine } from '../../../kernel/secrets/mask.js'
import type { ProjectedRequest } from '../../../model/links.js'
import type { Answer } from '../../../model/outcome.js'
import type { ClientCapabilities } from '../../../model/peer.js'
import { canBeAsked } from '../client-capabilities.js'
import type { KeyedQuestion } from '../questions.js'
import { bareAnswer, isAnswer } from '../questions.js'

export interface RoundContext {
  readonly server: string
  project(method: string, params: JsonText | undefined): ProjectedRequest
}

export interface RoundQuestion extends KeyedQuestion {
  /** The proxy's id; see `ProjectedRequest`. */
  readonly elicitationId: string | undefined
}

/** The reaction to a server that needs input before it continues. */
export type RoundPlan =
  | {
      readonly is: 'ask'
      readonly questions: readonly RoundQuestion[]
      /** Returned byte for byte, if the server sent one. */
      readonly state: JsonText | undefined
    }
  /** The server only wants to be asked again a little later. */
  | { readonly is: 'wait'; readonly state: JsonText }
  | Abort

/** The request cannot continue; the message is for the model or the user. */
interface Abort {
  readonly is: 'abort'
  readonly words: string
}

export type RoundEnd = { readonly is: 'retry'; readonly responses: JsonText } | Abort

export const QUESTIONS_MAX = 100

const CANCELLED = rawText('{"action":"cancel"}')
const TOO_MANY = `asked more than ${QUESTIONS_MAX} questions at once`
const MALFORMED = 'asked for input with an invalid request'
const INCAPABLE = 'asked for input this client cannot provide'

const abort = (server: string, what: string): Abort => ({ is: 'abort', words: `Server ${server} ${what}` })

/** Plans the questions for a legacy client: all or nothing, since no user should fill in a form in vain. */
export const planRound = (result: JsonText, context: RoundContext): RoundPlan => {
  const requests = memberOf(result, 'inputRequests')
  const state = memberOf(result, 'requestState')
  const isObject = requests === undefined || kindOf(requests) === 'object'
  if (!isObject || (state !== undefined && kindOf(state) !== 'string'))
    return abort(context.server, MALFORMED)
  if (requests === undefined || isEmpty(requests)) {
    return state === undefined ? abort(context.server, MALFORMED) : { is: 'wait', state }
  }
  const questions: RoundQuestion[] = []
  for (const { key, value } of membersOf(requests)) {
    if (questions.length === QUESTIONS_MAX) return abort(context.server, TOO_MANY)
    if (questions.some(other => other.key === key)) return abort(context.server, MALFORMED)
    const question = questionOf(key, value, context)
    if ('is' in question) return question
    questions.push(question)
  }
  return { is: 'ask', questions, state }
}

/** Plans the questions for a client that receives them unchanged. */
export const planAsIs = (result: JsonText, server: string, capabilities: ClientCapabilities): RoundPlan => {
  const questions: RoundQuestion[] = []
  for (const { key, value } of membersOf(memberOf(result, 'inputRequests') ?? result)) {
    if (questions.length === QUESTIONS_MAX) return abort(server, TOO_MANY)
    const method = stringOf(memberOf(value, 'method'))
    if (method === undefined) return abort(server, MALFORMED)
    const question = { key, method, params: memberOf(value, 'params'), elicitationId: undefined }
    if (!canBeAsked(question, capabilities)) return abort(server, `${INCAPABLE}: ${method}`)
    questions.push(question)
  }
  return { is: 'ask', questions, state: undefined }
}

const questionOf = (key: string, entry: JsonText, context: RoundContext): RoundQuestion | Abort => {
  const method = stringOf(memberOf(entry, 'method'))
  const params = memberOf(entry, 'params')
  if (method === undefined || (params !== undefined && kindOf(params) !== 'object'))
    return abort(context.server, MALFORMED)
  const projected = context.project(method, params)
  if (projected.is === 'impossible') return abort(context.server, `${INCAPABLE}: ${projected.what}`)
  return { key, method, params: projected.params, elicitationId: projected.elicitationId }
}

/**
 * Collects the answers of a round. A form that could not be shown counts as cancelled. Without a completion
 * or roots the request ends, because a modern server cannot receive an error as an answer.
 */
export const collectRound = (
  questions: readonly KeyedQuestion[],
  answers: ReadonlyMap<string, Answer>,
  server: string,
): RoundEnd => {
  const responses: [string, JsonText][] = []
  for (const { key, method } of questions) {
    const outcome = answers.get(key)
    if (outcome?.kind === 'result' && isAnswer(method, outcome.result)) {
      responses.push([key, bareAnswer(method, outcome.result)])
    } else if (method === 'elicitation/create') {
      responses.push([key, CANCELLED])
    } else {
      const needed = method === 'roots/list' ? 'the roots' : 'a model completion'
      return abort(server, `needed ${needed}; the client answered: ${wordsOf(outcome)}`)
    }
  }
  return { is: 'retry', responses: objectText(responses) }
}

/**
 * Returns the params of the next attempt: the first ones, with this round's answers and the server's latest
 * state.
 */
export const retryParams = (
  params: JsonText | undefined,
  responses: JsonText | undefined,
  state: JsonText | undefined,
): JsonText => {
  const first = params === undefined ? rawText('{}') : withoutMember(params, 'inputResponses', 'requestState')
  const answered = responses === undefined ? first : withMember(first, 'inputResponses', responses)
  return state === undefined ? answered : withMember(answered, 'requestState', state)
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5000

/**
 * Returns the delay before asking a server again that returned only a state, for the nth consecutive time
 * from 0.
 */
export const pauseMs = (n: number): number => Math.min(FIRST_PAUSE_MS * 2 ** n, LONGEST_PAUSE_MS)

const wordsOf = (outcome: Answer | undefined): string => {
  switch (outcome?.kind) {
    case 'error':
      return sanitizeLine(stringOf(memberOf(outcome.error, 'message')) ?? 'an error')
    case 'fault':
      return outcome.fault.message
    case 'result':
      return 'an invalid answer'
    case undefined:
      return 'nothing'
  }
}
