import { editMember } from '../../kernel/json/edit.js'
import {
  arrayText,
  at,
  EMPTY_ARRAY,
  editMembers,
  elementsOf,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  objectText,
  rawText,
  some,
  stringOf,
  textOf,
  withMember,
  withoutMember,
  withoutMembers,
} from '../../kernel/json/text.js'
import { shownJson, textBlock, withReadableContent } from '../../model/content.js'
import { repairItem } from './items.js'
import { keepKinds, kindsOf, type Note, repairAnnotations, repairBase64, repairIcons } from './parts.js'

/** Maximum number of `CompleteResult.completion.values` (server/utilities/completion). */
const COMPLETION_VALUES = 100

/**
 * Repairs a server's result so that clients of every revision can read it. Clients reject a whole result for
 * one bad part, so bad parts are repaired, shown as text or removed. `structuredContent`, `_meta` and unknown
 * members stay. `nullIsValue` tells whether `structuredContent: null` is a value, as in 2026-07-28; by
 * default the result decides. `seen` records whether the tool reported an error, so that a long result is
 * read only once.
 */
export const repairResult = (
  method: string,
  result: JsonText,
  nullIsValue?: boolean,
  seen: { isError: boolean } = { isError: false },
): JsonText => {
  switch (method) {
    case 'tools/call':
      return repairToolResult(result, nullIsValue, seen)
    case 'prompts/get':
      return editMember(withoutNulls(result, ['description', '_meta']), 'messages', repairMessages)
    case 'resources/read':
      return editMember(withoutNulls(result, ['_meta']), 'contents', list =>
        mapElements(list, repairContents),
      )
    case 'resources/directory/read':
      return repairDirectory(withoutNulls(result, ['nextCursor', '_meta']))
    case 'completion/complete':
      return editMember(withoutNulls(result, ['_meta']), 'completion', repairCompletion)
    default:
      return result
  }
}

const withoutNulls = (object: JsonText, keys: readonly string[]): JsonText =>
  withoutMembers(object, at => at.kind === 'null' && keys.some(key => at.keyIs(key)))

const repairToolResult = (
  result: JsonText,
  nullIsValue: boolean | undefined,
  seen: { isError: boolean },
): JsonText => {
  if (kindOf(result) !== 'object') return result
  const resultType = memberOf(result, 'resultType')
  if (resultType !== undefined && stringOf(resultType) !== 'complete') return result
  const optional = ['_meta', ...((nullIsValue ?? resultType !== undefined) ? [] : ['structuredContent'])]
  const whole = editMembers(result, at => {
    if (!at.keyIs('isError')) return at.kind !== 'null' || !optional.some(key => at.keyIs(key))
    seen.isError =
      at.kind === 'boolean' ? at.valueIs('true') : SAYS_YES.test(at.value.toString('latin1', 0, 8))
    return at.kind === 'boolean' || (seen.isError && rawText('true'))
  })
  const blocks = editMember(whole, 'content', list => mapElements(list, repairBlock))
  return withReadableContent(blocks)
}

/** Values that lenient parsers read as `true`. */
const SAYS_YES = /^(?:1|"(?:true|yes|on|1)")$/i

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

const BLOCK = kindsOf({ _meta: 'object' }, { annotations: ['object', repairAnnotations] })
const LINK = kindsOf(
  { title: 'string', description: 'string', mimeType: 'string', size: 'number' },
  { icons: ['array', repairIcons] },
)
const RESOURCE_CONTENTS = kindsOf({ mimeType: 'string', _meta: 'object' })

/** Not logged: a tool may be called often, and sloppy servers already show in the log of their lists. */
const silent: Note = () => undefined

/**
 * Repairs a content block, or converts it to text, since clients reject unknown types. Undefined for `null`.
 */
const repairBlock = (block: JsonText): JsonText | undefined => {
  if (kindOf(block) === 'null') return undefined
  const repair = BLOCKS.get(stringOf(memberOf(block, 'type')))
  const kept = repair && keepKinds(block, BLOCK, silent)
  return (kept && repair(kept)) ?? textBlock(stringOf(block) ?? shownJson(block))
}

/** Gives a block its `text`: other values as JSON, `null` or none as an empty string. */
const withText = (holder: JsonText): JsonText => {
  const text = memberOf(holder, 'text')
  const kind = text && kindOf(text)
  if (kind === 'string') return holder
  const isNothing = text === undefined || kind === 'null'
  return withMember(holder, 'text', textOf(isNothing ? '' : shownJson(text)))
}

const repairBinary = (block: JsonText): JsonText | undefined => {
  const data = repairBase64(memberOf(block, 'data'))
  if (data === undefined || stringOf(memberOf(block, 'mimeType')) === undefined) return undefined
  return withMember(block, 'data', data)
}

const repairLink = (block: JsonText): JsonText | undefined => {
  const uri = memberOf(block, 'uri')
  if (uri === undefined || stringOf(uri) === undefined) return undefined
  const link = keepKinds(block, LINK, silent)
  return stringOf(memberOf(link, 'name')) === undefined ? withMember(link, 'name', uri) : link
}

const repairEmbedded = (block: JsonText): JsonText | undefined => {
  const resource = memberOf(block, 'resource')
  if (resource === undefined || stringOf(memberOf(resource, 'uri')) === undefined) return undefined
  const contents = readable(resource)
  return contents && withMember(block, 'resource', contents)
}

const BLOCKS: ReadonlyMap<string | undefined, (block: JsonText) => JsonText | undefined> = new Map([
  ['text', withText],
  ['image', repairBinary],
  ['audio', repairBinary],
  ['resource_link', repairLink],
  ['resource', repairEmbedded],
])

/** Repairs `ResourceContents`; undefined if its blob cannot be decoded. */
const readable = (contents: JsonText): JsonText | undefined => {
  const kept = keepKinds(contents, RESOURCE_CONTENTS, silent)
  const blob = memberOf(kept, 'blob')
  if (blob === undefined || kindOf(blob) === 'null') return withText(withoutMember(kept, 'blob'))
  const base64 = repairBase64(blob)
  if (base64 === undefined) return undefined
  const text = memberOf(kept, 'text')
  const alone = text !== undefined && kindOf(text) === 'null' ? withoutMember(kept, 'text') : kept
  return withMember(alone, 'blob', base64)
}

/** Repairs an entry of `contents`. A blob that cannot be decoded becomes a text that shows it. */
const repairContents = (contents: JsonText): JsonText => {
  if (kindOf(contents) !== 'object') return contents
  const read = readable(contents)
  if (read !== undefined) return read
  const plain = withMember(withoutMember(contents, 'blob'), 'mimeType', textOf('text/plain'))
  return withMember(plain, 'text', textOf(shownJson(contents)))
}

/** Repairs the entries of a directory like a list of resources (ext-skills, SEP-2640). */
const repairDirectory = (directory: JsonText): JsonText => {
  const entries = memberOf(directory, 'resources')
  // Go servers write an empty list as `null`.
  if (entries === undefined || kindOf(entries) !== 'array')
    return withMember(directory, 'resources', EMPTY_ARRAY)
  return editMember(directory, 'resources', () =>
    mapElements(entries, entry => {
      const repaired = repairItem('resources', entry)
      return 'dropped' in repaired ? undefined : repaired.item
    }),
  )
}

const PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['tools/call', ['content']],
  ['prompts/get', ['messages']],
  ['resources/read', ['contents']],
  ['resources/directory/read', ['resources']],
  ['skills/get', ['skill', 'resources']],
])

/** Returns whether a result has more than `most` blocks, messages or contents. */
export const hasMoreParts = (method: string, result: JsonText, most: number): boolean => {
  if (result.length <= most) return false
  const path = PARTS.get(method)
  const parts = path && at(result, ...path)
  if (parts === undefined) return false
  let count = 0
  const isOneTooMany = (): boolean => {
    count += 1
    return count > most
  }
  if (some(elementsOf(parts), isOneTooMany)) return true
  // A message may hold several blocks, although the specification allows one.
  const blocksOf = (message: JsonText) => elementsOf(memberOf(message, 'content') ?? message)
  return method === 'prompts/get' && some(elementsOf(parts), one => some(blocksOf(one), isOneTooMany))
}

/** Repairs the messages of a prompt, splitting those with an array of blocks, which no revision allows. */
const repairMessages = (messages: JsonText): JsonText =>
  some(elementsOf(messages), hasBlocks)
    ? arrayText(
        [...elementsOf(messages)].flatMap(message =>
          hasBlocks(message) ? splitMessage(message) : [repairMessage(message)],
        ),
      )
    : mapElements(messages, repairMessage)

const hasBlocks = (message: JsonText): boolean => {
  const content = memberOf(message, 'content')
  return content !== undefined && kindOf(content) === 'array'
}

/**
 * Splits a message into one per block. Members outside the schema are dropped, since they would be repeated.
 */
const splitMessage = (message: JsonText): JsonText[] => {
  const role = memberOf(message, 'role')
  return [...elementsOf(memberOf(message, 'content') ?? message)].map(block =>
    repairMessage(
      objectText([...(role === undefined ? [] : [['role', role] as const]), ['content', block] as const]),
    ),
  )
}

const repairMessage = (message: JsonText): JsonText =>
  editMember(message, 'content', block => repairBlock(block) ?? textBlock(''))
