import { editMember } from '../../../kernel/json/edit.js'
import {
  arrayText,
  elementsOf,
  type JsonText,
  kindOf,
  mapElements,
  mapMembers,
  memberOf,
  membersOf,
  objectText,
  some,
  stringOf,
  textOf,
  withMember,
  withoutMember,
} from '../../../kernel/json/text.js'
import { textBlock } from '../../../model/content.js'
import type { ProjectedRequest } from '../../../model/links.js'
import type { ClientCapabilities } from '../../../model/peer.js'
import type { LegacyRevision } from '../../../model/revision.js'

/** The client that receives the request. */
interface Target {
  readonly revision: LegacyRevision
  readonly capabilities: ClientCapabilities
  /** True if other servers share the client, so that "this server's context" would include theirs. */
  readonly isShared: boolean
  /** Creates the id of a URL elicitation, which only 2025-11-25 requires. */
  newElicitationId(): string
}

const impossible = (what: string): ProjectedRequest => ({ is: 'impossible', what })
const projected = (params: JsonText | undefined): ProjectedRequest => ({ is: 'request', params })

/** Thrown out of a nested edit; caught in this file. */
class Impossible extends Error {}

/** Projects a modern server's request (2026-07-28, schema, `InputRequest`) for a legacy client. */
export const projectServerRequest = (
  method: string,
  params: JsonText | undefined,
  target: Target,
): ProjectedRequest => {
  const bare = params && withoutMember(params, '_meta')
  try {
    switch (method) {
      case 'roots/list':
        return target.capabilities.roots === undefined ? impossible('roots') : projected(bare)
      case 'sampling/createMessage':
        return projectSampling(bare, target)
      case 'elicitation/create':
        return projectElicitation(bare, target)
      default:
        return impossible('an unknown kind of question')
    }
  } catch (thrown) {
    if (thrown instanceof Impossible) return impossible(thrown.message)
    throw thrown
  }
}

// ── sampling ──

const TOOL_BLOCKS: ReadonlySet<string | undefined> = new Set(['tool_use', 'tool_result'])

const projectSampling = (params: JsonText | undefined, target: Target): ProjectedRequest => {
  const { sampling } = target.capabilities
  if (sampling === undefined || params === undefined) return impossible('sampling')
  const messages = memberOf(params, 'messages') ?? arrayText([])
  const wantsTools =
    memberOf(params, 'tools') !== undefined ||
    memberOf(params, 'toolChoice') !== undefined ||
    some(elementsOf(messages), message => some(blocksOf(message), block => TOOL_BLOCKS.has(typeOf(block))))
  if (wantsTools && !sampling.tools) return impossible('sampling with tools')
  const known = projectContext(params, target)
  if (target.revision >= '2025-11-25') return projected(known)
  return projected(
    editMember(known, 'messages', list =>
      mapElements(list, message =>
        editMember(message, 'content', content => oneBlock(content, target.revision)),
      ),
    ),
  )
}

/** Drops `includeContext` if the client did not declare it or would misunderstand it. */
const projectContext = (params: JsonText, { revision, capabilities, isShared }: Target): JsonText => {
  const context = stringOf(memberOf(params, 'includeContext'))
  if (context === undefined || context === 'none') return params
  const isKnown = revision < '2025-11-25' || capabilities.sampling?.context === true
  return isShared || !isKnown ? withoutMember(params, 'includeContext') : params
}

const blocksOf = (message: JsonText): Iterable<JsonText> => {
  const content = memberOf(message, 'content')
  if (content === undefined) return []
  return kindOf(content) === 'array' ? elementsOf(content) : [content]
}

const typeOf = (block: JsonText): string | undefined => stringOf(memberOf(block, 'type'))

/** The first revision with audio in sampling. */
const AUDIO_SINCE: LegacyRevision = '2025-03-26'

/** Returns whether a server's sampling request contains audio that a client of `revision` cannot read. */
export const hasUnknownAudio = (
  revision: LegacyRevision,
  method: string,
  params: JsonText | undefined,
): boolean =>
  revision < AUDIO_SINCE &&
  method === 'sampling/createMessage' &&
  some(elementsOf((params && memberOf(params, 'messages')) ?? arrayText([])), message =>
    some(blocksOf(message), block => typeOf(block) === 'audio'),
  )

/** Projects a client's answer for a server of `revision`: for older ones, audio is only mentioned. */
export const projectAnswer = (revision: LegacyRevision, method: string, result: JsonText): JsonText =>
  revision < AUDIO_SINCE && method === 'sampling/createMessage'
    ? editMember(result, 'content', block => (typeOf(block) === 'audio' ? mentionOf(block) : block))
    : result

const mentionOf = (audio: JsonText): JsonText => {
  const bytes = Math.floor(((memberOf(audio, 'data')?.length ?? 2) - 2) * 0.75)
  return textBlock(`[audio ${stringOf(memberOf(audio, 'mimeType')) ?? 'of unknown type'}, ${bytes} bytes]`)
}

/** Joins content to one block, as required before 2025-11-25 (client/sampling, "Message Content"). */
const oneBlock = (content: JsonText, revision: LegacyRevision): JsonText => {
  const blocks = kindOf(content) === 'array' ? [...elementsOf(content)] : [content]
  if (revision < AUDIO_SINCE && blocks.some(block => typeOf(block) === 'audio')) {
    throw new Impossible('sampling with audio')
  }
  if (kindOf(content) !== 'array') return content
  const [first] = blocks
  if (first !== undefined && blocks.length === 1) return first
  const texts = blocks.flatMap(block =>
    typeOf(block) === 'text' ? (stringOf(memberOf(block, 'text')) ?? []) : [],
  )
  if (texts.length < blocks.length) throw new Impossible('sampling with several kinds of content')
  return textBlock(texts.join('\n\n'))
}

// ── elicitation ──

const projectElicitation = (params: JsonText | undefined, target: Target): ProjectedRequest => {
  const { revision, capabilities } = target
  if (params === undefined) return impossible('elicitation')
  const mode = stringOf(memberOf(params, 'mode')) ?? 'form'
  if (mode === 'url') {
    if (capabilities.elicitation?.url !== true) return impossible('elicitation url')
    const elicitationId = target.newElicitationId()
    return {
      is: 'request',
      params: withMember(params, 'elicitationId', textOf(elicitationId)),
      elicitationId,
    }
  }
  if (mode !== 'form') return impossible('elicitation of an unknown mode')
  if (capabilities.elicitation?.form !== true) return impossible('elicitation')
  if (revision >= '2025-11-25') return projected(params)
  return projected(editMember(withoutMember(params, 'mode'), 'requestedSchema', oldSchema))
}

/** Projects a form to 2025-06-18 (client/elicitation, "Requested Schema"). */
const oldSchema = (schema: JsonText): JsonText =>
  editMember(withoutMember(schema, '$schema'), 'properties', properties =>
    mapMembers(properties, (_, field) => oldField(field)),
  )

const OLD_TYPES: ReadonlySet<string | undefined> = new Set(['string', 'number', 'integer', 'boolean'])

const oldField = (field: JsonText): JsonText => {
  const type = typeOf(field)
  if (type === 'array') throw new Impossible('elicitation multi-select')
  if (!OLD_TYPES.has(type)) throw new Impossible('elicitation of an unknown field')
  const choices = memberOf(field, 'oneOf')
  if (choices === undefined) return field
  const titled = [...elementsOf(choices)].map(choice => ({
    value: memberOf(choice, 'const'),
    title: memberOf(choice, 'title'),
  }))
  const values = titled.flatMap(({ value }) =>
    stringOf(value) === undefined || value === undefined ? [] : [value],
  )
  if (type !== 'string' || values.length === 0 || values.length < titled.length) {
    throw new Impossible('elicitation of an unknown field')
  }
  const names = titled.flatMap(({ title, value }) => (stringOf(title) === undefined ? value : title) ?? [])
  return objectText([
    ...[...membersOf(withoutMember(field, 'oneOf', 'enum', 'enumNames'))].map(
      ({ key, value }) => [key, value] as const,
    ),
    ['enum', arrayText(values)],
    ['enumNames', arrayText(names)],
  ])
}
