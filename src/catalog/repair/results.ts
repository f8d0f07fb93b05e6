import { editMember } from '../../kernel/json/edit.js'
import {
  arrayText,
  countUpTo,
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
import { type Kinds, keepKinds, type Note, repairBase64, repairShown } from './parts.js'

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

const BLOCK: Kinds = { annotations: 'object', _meta: 'object' }
const LINK: Kinds = {
  ...BLOCK,
  title: 'string',
  description: 'string',
  mimeType: 'string',
  size: 'number',
  icons: 'array',
}
const RESOURCE_CONTENTS: Kinds = { mimeType: 'string', _meta: 'object' }

/** Nobody is told: a tool may be called often, and the operator learns of sloppy servers from their lists. */
const silent: Note = () => undefined

/**
 * A content block of a tool result or prompt as every revision allows it. Clients know a closed set of types and
 * refuse the whole result for another, so what cannot be repaired becomes a text that shows it. Undefined for
 * `null`, which stands for nothing.
 */
const repairBlock = (block: JsonText): JsonText | undefined => {
  if (kindOf(block) === 'null') return undefined
  const repair = BLOCKS.get(stringOf(memberOf(block, 'type')))
  const kept = repair && repairShown(keepKinds(block, BLOCK, silent), silent)
  return (kept && repair(kept)) ?? textBlock(stringOf(block) ?? shownJson(block))
}

/** `text` that is no text is shown as its JSON; `null` or nothing as empty. */
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

/** `ResourceContents` with text or a blob that can be read; undefined if the blob cannot be. */
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

/** An entry of `contents`; a blob that cannot be read gives way to a text that shows it. */
const repairContents = (contents: JsonText): JsonText => {
  if (kindOf(contents) !== 'object') return contents
  const read = readable(contents)
  if (read !== undefined) return read
  const plain = withMember(withoutMember(contents, 'blob'), 'mimeType', textOf('text/plain'))
  return withMember(plain, 'text', textOf(shownJson(contents)))
}

/** Where the results of each kind have their parts. */
const PARTS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'content'],
  ['prompts/get', 'messages'],
  ['resources/read', 'contents'],
])

/** Whether a result has more parts (blocks, messages, contents) than this; each of them is looked at by itself. */
export const hasMoreParts = (method: string, result: JsonText, most: number): boolean => {
  // Most are too short for that.
  if (result.length <= most) return false
  const parts = memberOf(result, PARTS.get(method) ?? '')
  if (parts === undefined) return false
  let count = countUpTo(most, parts)
  // A message may hold several blocks, though none should.
  for (const message of count <= most && method === 'prompts/get' ? elementsOf(parts) : []) {
    count += countUpTo(most, memberOf(message, 'content') ?? message)
    if (count > most) break
  }
  return count > most
}

/** The messages of a prompt. One that holds an array of blocks, which no revision allows, becomes several. */
const repairMessages = (messages: JsonText): JsonText =>
  some(elementsOf(messages), hasBlocks)
    ? arrayText(
        [...elementsOf(messages)].flatMap(message =>
          hasBlocks(message) ? apart(message) : [repairMessage(message)],
        ),
      )
    : mapElements(messages, repairMessage)

const hasBlocks = (message: JsonText): boolean => {
  const content = memberOf(message, 'content')
  return content !== undefined && kindOf(content) === 'array'
}

/** Of the message itself only what the schema has: whatever else there is would come again with each block. */
const apart = (message: JsonText): JsonText[] => {
  const role = memberOf(message, 'role')
  return [...elementsOf(memberOf(message, 'content') ?? message)].map(block =>
    repairMessage(
      objectText([...(role === undefined ? [] : [['role', role] as const]), ['content', block] as const]),
    ),
  )
}

const repairMessage = (message: JsonText): JsonText =>
  editMember(message, 'content', block => repairBlock(block) ?? textBlock(''))
