import { editMember } from '../../kernel/json/edit.js'
import {
  arrayText,
  elementsOf,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  rawText,
  stringOf,
  withMember,
  withoutMembers,
} from '../../kernel/json/text.js'
import { withReadableContent } from '../../model/content.js'
import { repairBlock, repairContents, repairMessages } from './content.js'

export { hasMoreParts } from './content.js'
export { repairItem } from './items.js'

/** `CompleteResult.completion.values` MUST NOT exceed this (server/utilities/completion, "Completion Results"). */
const COMPLETION_VALUES = 100

/**
 * A server's result as clients of every revision can read it. Clients refuse a whole result for one bad part, so
 * bad parts are repaired, shown as text or removed; `structuredContent`, `_meta` and unknown members stay as they
 * are. `nullIsValue` says whether the server means something by `structuredContent: null`, as 2026-07-28 allows; if that
 * is not known, the result tells.
 */
export const repairResult = (method: string, result: JsonText, nullIsValue?: boolean): JsonText => {
  switch (method) {
    case 'tools/call':
      return repairToolResult(result, nullIsValue)
    case 'prompts/get':
      return editMember(withoutNulls(result, ['description', '_meta']), 'messages', repairMessages)
    case 'resources/read':
      return editMember(withoutNulls(result, ['_meta']), 'contents', list =>
        mapElements(list, repairContents),
      )
    case 'completion/complete':
      return editMember(withoutNulls(result, ['_meta']), 'completion', repairCompletion)
    default:
      return result
  }
}

const withoutNulls = (object: JsonText, keys: readonly string[]): JsonText =>
  withoutMembers(object, at => at.kind === 'null' && keys.some(key => at.keyIs(key)))

const repairToolResult = (result: JsonText, nullIsValue: boolean | undefined): JsonText => {
  if (kindOf(result) !== 'object') return result
  const resultType = memberOf(result, 'resultType')
  if (resultType !== undefined && stringOf(resultType) !== 'complete') return result
  const optional = [
    'isError',
    '_meta',
    ...((nullIsValue ?? resultType !== undefined) ? [] : ['structuredContent']),
  ]
  const blocks = editMember(withoutNulls(result, optional), 'content', list => mapElements(list, repairBlock))
  return withReadableContent(blocks)
}

const repairCompletion = (completion: JsonText): JsonText => {
  if (kindOf(completion) !== 'object') return completion
  const values = memberOf(completion, 'values') ?? completion
  const texts: JsonText[] = []
  let isWhole = kindOf(values) === 'array'
  for (const value of elementsOf(values)) {
    if (kindOf(value) === 'string') texts.push(value)
    else isWhole = false
    if (texts.length > COMPLETION_VALUES) break
  }
  const listed =
    isWhole && texts.length <= COMPLETION_VALUES
      ? completion
      : withMember(completion, 'values', arrayText(texts.slice(0, COMPLETION_VALUES)))
  const counted = editMember(withoutNulls(listed, ['hasMore']), 'total', total =>
    kindOf(total) === 'number' && Number.isSafeInteger(Number(total.toString('latin1'))) ? total : undefined,
  )
  return texts.length > COMPLETION_VALUES ? withMember(counted, 'hasMore', rawText('true')) : counted
}
