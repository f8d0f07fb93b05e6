import { mayContain } from '../../kernel/json/edit.js'
import {
  EMPTY,
  type JsonText,
  kindOf,
  memberOf,
  rawText,
  repeatedKey,
  stringOf,
  withMember,
  withMembers,
} from '../../kernel/json/text.js'
import { META } from '../shared/protocol.js'

/** Kinds of results (basic, "ResultType"); `task` belongs to the tasks extension (SEP-2663). */
export type ResultType = 'complete' | 'input_required' | 'task'

const TYPE_TEXTS = {
  complete: rawText('"complete"'),
  input_required: rawText('"input_required"'),
  task: rawText('"task"'),
} as const satisfies Record<ResultType, JsonText>

const TYPE_KEY: ReadonlySet<string> = new Set(['resultType'])

const isResultType = (text: string): text is ResultType => Object.hasOwn(TYPE_TEXTS, text)

/**
 * Reads the kind of a result. `absent` means `complete` from servers of older revisions; `unknown` and
 * duplicates must not be mistaken for any other kind (basic, "ResultType").
 */
export const readResultType = (result: JsonText): ResultType | 'unknown' | 'absent' => {
  if (!mayContain(result, '"resultType"')) return 'absent'
  const type = memberOf(result, 'resultType')
  if (type === undefined) return 'absent'
  const name = stringOf(type) ?? ''
  return repeatedKey(result, TYPE_KEY) === undefined && isResultType(name) ? name : 'unknown'
}

/** The members added to every result: its kind, our identity, and others. */
export interface Stamp {
  readonly type: ResultType
  /** Our `Implementation` object. */
  readonly identity: JsonText
  readonly members?: readonly (readonly [key: string, value: JsonText])[]
}

/** Adds the required kind and identity to a result (schema, `ResultMetaObject`); all other bytes stay. */
export const stamped = (result: JsonText, { type, identity, members = [] }: Stamp): JsonText =>
  marked(result, identity, [['resultType', TYPE_TEXTS[type]], ...members])

/** The member of final results. */
export const COMPLETE = ['resultType', TYPE_TEXTS.complete] as const

/** Adds our identity and other members to a result. */
export const marked = (
  result: JsonText,
  identity: JsonText,
  members: readonly (readonly [key: string, value: JsonText])[],
): JsonText => {
  const meta = mayContain(result, '"_meta"') ? memberOf(result, '_meta') : undefined
  const isObject = meta !== undefined && kindOf(meta) === 'object'
  return withMembers(result, [
    ...members,
    ['_meta', withMember(isObject ? meta : EMPTY, META.serverInfo, identity)],
  ])
}
