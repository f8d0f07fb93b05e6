import {
  type JsonText,
  memberOf,
  membersOf,
  objectText,
  rawText,
  textOf,
  withMember,
  withoutMember,
} from '../kernel/json-text.js'

/** A question with the key that its answer comes back under. */
export interface KeyedQuestion {
  readonly key: string
  readonly method: string
  readonly params: JsonText | undefined
}

/** The answer "input required" of a request (2026-07-28, basic/patterns/mrtr, `InputRequiredResult`). */
export const inputRequired = (questions: readonly KeyedQuestion[], requestState: string): JsonText =>
  objectText([
    ['resultType', rawText('"input_required"')],
    // All were withdrawn: the client comes back for the rest without answering anything.
    ...(questions.length === 0 ? [] : [['inputRequests', embeddedAll(questions)] as const]),
    ['requestState', textOf(requestState)],
  ])

const embeddedAll = (questions: readonly KeyedQuestion[]): JsonText =>
  objectText(questions.map(({ key, method, params }) => [key, embedded(method, params)] as const))

/**
 * A legacy server's question inside a result: method and params, without what belongs to the exchange that it came in. Forms
 * say that they are, because a modern client need not know the default.
 */
const embedded = (method: string, params: JsonText | undefined): JsonText => {
  const bare =
    params && withoutMember(params, '_meta', 'task', ...(isElicitation(method) ? ['elicitationId'] : []))
  const needsMode = bare !== undefined && isElicitation(method) && memberOf(bare, 'mode') === undefined
  const known = needsMode ? withMember(bare, 'mode', rawText('"form"')) : bare
  return objectText([
    ['method', textOf(method)],
    ...(known === undefined || isEmpty(known) ? [] : [['params', known] as const]),
  ])
}

const isElicitation = (method: string): boolean => method === 'elicitation/create'

const isEmpty = (object: JsonText): boolean => membersOf(object).length === 0
