import {
  isEmpty,
  type JsonText,
  memberOf,
  objectText,
  rawText,
  textOf,
  withMember,
  withoutMember,
} from '../../kernel/json/text.js'

/** A question under the key of its answer. */
export interface KeyedQuestion {
  readonly key: string
  readonly method: string
  readonly params: JsonText | undefined
}

/** Makes an `InputRequiredResult` (2026-07-28, basic/patterns/mrtr). */
export const inputRequired = (questions: readonly KeyedQuestion[], requestState: string): JsonText =>
  objectText([
    ['resultType', rawText('"input_required"')],
    // If all were withdrawn, the client comes back for the rest without an answer.
    ...(questions.length === 0 ? [] : [['inputRequests', embeddedAll(questions)] as const]),
    ['requestState', textOf(requestState)],
  ])

const embeddedAll = (questions: readonly KeyedQuestion[]): JsonText =>
  objectText(questions.map(({ key, method, params }) => [key, embedded(method, params)] as const))

const embedded = (method: string, params: JsonText | undefined): JsonText => {
  const bare = bareParams(method, params)
  return objectText([['method', textOf(method)], ...(bare === undefined ? [] : [['params', bare] as const])])
}

/** Params of a legacy question for a modern client, which needs `mode`; undefined if none are left. */
export const bareParams = (method: string, params: JsonText | undefined): JsonText | undefined => {
  const isElicitation = method === 'elicitation/create'
  const bare = params && withoutMember(params, '_meta', 'task', ...(isElicitation ? ['elicitationId'] : []))
  if (bare === undefined || isEmpty(bare)) return undefined
  const needsMode = isElicitation && memberOf(bare, 'mode') === undefined
  return needsMode ? withMember(bare, 'mode', rawText('"form"')) : bare
}
