import { createHash } from 'node:crypto'
import { editMember } from '../../../kernel/json/edit.js'
import {
  at,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  objectText,
  rawText,
  stringOf,
  textOf,
  withMember,
  withoutMember,
} from '../../../kernel/json/text.js'
import { shownJson, textBlock } from '../../../model/content.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { projectAnnotations, projectInnerMeta } from './meta.js'

/** The first revision of each content block (schema.ts, `ContentBlock`). */
const BLOCKS: ReadonlyMap<string, LegacyRevision> = new Map<string, LegacyRevision>([
  ['text', '2024-11-05'],
  ['image', '2024-11-05'],
  ['resource', '2024-11-05'],
  ['audio', '2025-03-26'],
  ['resource_link', '2025-06-18'],
])

/** Larger audio is mentioned instead of embedded. */
const SOUND_BYTES = 1024 * 1024

/**
 * Projects a content block for a client of `revision`; clients reject a result with an unknown block type.
 */
export const projectBlock = (revision: LegacyRevision, block: JsonText): JsonText => {
  const type = stringOf(memberOf(block, 'type')) ?? ''
  const since = BLOCKS.get(type)
  if (since === undefined) return textBlock(shownJson(block))
  const known = revision < since ? downgraded(type, block) : block
  const plain = projectAnnotations(revision, projectInnerMeta(revision, known))
  if (type === 'resource') return editMember(plain, 'resource', entry => projectContents(revision, entry))
  return revision < '2025-11-25' && type === 'resource_link' ? withoutMember(plain, 'icons') : plain
}

/** Projects an entry of `contents`, or an embedded resource. */
export const projectContents = (revision: LegacyRevision, contents: JsonText): JsonText =>
  kindOf(contents) === 'object' ? projectInnerMeta(revision, contents) : contents

/** Projects a message of a prompt. Its content is one block; some servers send an array. */
export const projectMessage = (revision: LegacyRevision, message: JsonText): JsonText =>
  editMember(message, 'content', content =>
    kindOf(content) === 'array'
      ? mapElements(content, block => projectBlock(revision, block))
      : projectBlock(revision, content),
  )

const downgraded = (type: string, block: JsonText): JsonText => {
  const older = type === 'audio' ? embeddedSound(block) : linkText(block)
  const annotations = memberOf(block, 'annotations')
  return annotations === undefined ? older : withMember(older, 'annotations', annotations)
}

/** Converts audio to an embedded resource, the only form of binary data in 2024-11-05. */
const embeddedSound = (block: JsonText): JsonText => {
  const mimeType = memberOf(block, 'mimeType')
  const data = memberOf(block, 'data')
  const base64 = stringOf(data)
  if (data === undefined || base64 === undefined) return textBlock(shownJson(block))
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length > SOUND_BYTES) {
    return textBlock(`[audio ${stringOf(mimeType) ?? 'of unknown type'}, ${bytes.length} bytes]`)
  }
  const hash = createHash('sha256').update(bytes).digest('hex')
  const resource = objectText([
    ['uri', textOf(`mcp-proxy://content/${hash}`)],
    ...(mimeType === undefined ? [] : [['mimeType', mimeType] as const]),
    ['blob', data],
  ])
  return objectText([
    ['type', rawText('"resource"')],
    ['resource', resource],
  ])
}

/** Converts a link to text for the model; embedding the resource would need a read. */
const linkText = (block: JsonText): JsonText => {
  const [title, name, uri, description] = ['title', 'name', 'uri', 'description'].map(key =>
    stringOf(at(block, key)),
  )
  if (uri === undefined) return textBlock(shownJson(block))
  const line = `${title ?? name ?? uri}: ${uri}`
  return textBlock(description === undefined ? line : `${line}\n${description}`)
}
