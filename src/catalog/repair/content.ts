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
  some,
  stringOf,
  textOf,
  withMember,
  withoutMember,
} from '../../kernel/json/text.js'
import { shownJson, textBlock } from '../../model/content.js'
import { type Kinds, keepKinds, type Note, repairBase64, repairShown } from './parts.js'

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
export const repairBlock = (block: JsonText): JsonText | undefined => {
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
export const repairContents = (contents: JsonText): JsonText => {
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
export const repairMessages = (messages: JsonText): JsonText =>
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
