import { mayHold } from '../../kernel/json-edit.js'
import {
  type JsonText,
  membersOf,
  rawText,
  stringOf,
  withAt,
  withMember,
  withoutMember,
} from '../../kernel/json-text.js'
import { META } from './methods.js'
import { withoutReservedMeta } from './project-meta.js'

/** Kinds of results (basic, "ResultType"); `task` is that of the extension for tasks (SEP-2663). */
export type ResultType = 'complete' | 'input_required' | 'task'

const TYPE_TEXTS = {
  complete: rawText('"complete"'),
  input_required: rawText('"input_required"'),
  task: rawText('"task"'),
} as const satisfies Record<ResultType, JsonText>

const isResultType = (text: string): text is ResultType => Object.hasOwn(TYPE_TEXTS, text)

/**
 * Members of complete results that no older client may see; in an empty result they are fatal to SDK clients.
 */
const MODERN_MEMBERS = ['resultType', 'ttlMs', 'cacheScope']
const MODERN_KEYS = MODERN_MEMBERS.map(name => `"${name}"`)

/** A result that says its kind, as this revision requires of every result; all other bytes stay. */
export const withResultType = (result: JsonText, type: ResultType): JsonText =>
  withMember(result, 'resultType', TYPE_TEXTS[type])

/**
 * The kind of a result. `absent` means `complete` if the server is older than this revision; `unknown` must
 * not be taken for any other kind (basic, "ResultType"), and neither may a result that says its kind twice.
 */
export const readResultType = (result: JsonText): ResultType | 'unknown' | 'absent' => {
  if (!mayHold(result, '"resultType"')) return 'absent'
  const types = membersOf(result).filter(({ key }) => key === 'resultType')
  const [type] = types
  if (type === undefined) return 'absent'
  const name = stringOf(type.value) ?? ''
  return types.length === 1 && isResultType(name) ? name : 'unknown'
}

/**
 * A result that says who answered: us, instead of the server that the client does not talk to. `identity` is
 * an `Implementation` object.
 */
export const withServerInfo = (result: JsonText, identity: JsonText): JsonText =>
  withAt(result, ['_meta', META.serverInfo], identity)

/** A complete result without what this revision added; the same reference if there is nothing of it. */
export const withoutModernMembers = (result: JsonText): JsonText =>
  withoutReservedMeta(mayHold(result, ...MODERN_KEYS) ? withoutMember(result, ...MODERN_MEMBERS) : result)
