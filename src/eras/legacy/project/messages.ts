import { JsonCursor } from '../../../kernel/json/cursor.js'
import { editMember, mayContain } from '../../../kernel/json/edit.js'
import { OPEN_OBJECT } from '../../../kernel/json/scan.js'
import {
  editMembers,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  objectText,
  withAt,
  withMember,
  withoutMember,
  withoutMembers,
} from '../../../kernel/json/text.js'
import { withReadableContent } from '../../../model/content.js'
import { LISTS, type ListName, listOfMethod } from '../../../model/listing.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { EMPTY_RESULTS } from '../methods.js'
import { projectBlock, projectContents, projectMessage } from './content.js'
import {
  projectAnnotations,
  projectInnerMeta,
  projectLegacyMeta,
  projectRequestMeta,
  withoutModernMeta,
} from './meta.js'
import { projectOutputSchema, withObjectProperties } from './schemas.js'

type Strips = Readonly<Record<LegacyRevision, readonly string[]>>

/** Members that a revision's `Tool` lacks. */
const TOOL_STRIPS: Strips = {
  '2024-11-05': ['title', 'annotations', 'outputSchema', 'icons', 'execution'],
  '2025-03-26': ['title', 'outputSchema', 'icons', 'execution'],
  '2025-06-18': ['icons', 'execution'],
  '2025-11-25': [],
}

/** Members that a revision's `Prompt`, `Resource` and `ResourceTemplate` lack. */
const STRIPS: Strips = {
  '2024-11-05': ['title', 'icons'],
  '2025-03-26': ['title', 'icons'],
  '2025-06-18': ['icons'],
  '2025-11-25': [],
}

/**
 * Projects a list item for a client of `revision`; returns the same reference if it is fully supported.
 *
 * @internal
 */
export const projectItem = (revision: LegacyRevision, list: ListName, item: JsonText): JsonText => {
  // Skills have the same form in all revisions.
  if (kindOf(item) !== 'object' || list === 'skills') return item
  const inner = projectInnerMeta(revision, item)
  if (list === 'tools') return projectTool(revision, inner)
  const strips = STRIPS[revision]
  const known = strips.length === 0 ? inner : withoutMember(inner, ...strips)
  return list === 'prompts' ? projectPrompt(revision, known) : projectAnnotations(revision, known)
}

/** `PromptArgument.title` exists since 2025-06-18. */
const projectPrompt = (revision: LegacyRevision, prompt: JsonText): JsonText =>
  revision < '2025-06-18'
    ? editMember(prompt, 'arguments', list => mapElements(list, argument => withoutMember(argument, 'title')))
    : prompt

const projectTool = (revision: LegacyRevision, tool: JsonText): JsonText => {
  const titled = revision === '2025-03-26' ? withTitleHint(tool) : tool
  const strips = TOOL_STRIPS[revision]
  return editMembers(titled, at => {
    if (strips.some(key => at.keyIs(key))) return false
    if (at.keyIs('inputSchema')) return withObjectProperties(at.value)
    return !at.keyIs('outputSchema') || (projectOutputSchema(at.value) ?? false)
  })
}

/** 2025-03-26 has the display name in the annotations only. */
const withTitleHint = (tool: JsonText): JsonText => {
  const title = memberOf(tool, 'title')
  const annotations = memberOf(tool, 'annotations')
  const isThere = annotations !== undefined && memberOf(annotations, 'title') !== undefined
  return title === undefined || isThere ? tool : withAt(tool, ['annotations', 'title'], title)
}

/** Members of modern results; legacy SDK clients reject an empty result that contains them. */
const MODERN_MEMBERS = ['resultType', 'ttlMs', 'cacheScope']
const MODERN_KEYS = MODERN_MEMBERS.map(name => `"${name}"`)

const projectFrame = (revision: LegacyRevision, result: JsonText): JsonText => {
  const known = mayContain(result, ...MODERN_KEYS) ? withoutMember(result, ...MODERN_MEMBERS) : result
  return projectLegacyMeta(revision, known)
}

/** Projects a modern result of an unknown method: other members may belong to an extension. */
export const projectPassed = (result: JsonText): JsonText =>
  withoutModernMeta(mayContain(result, '"resultType"') ? withoutMember(result, 'resultType') : result)

/** Projects a result for a client of `revision`; returns the same reference if it is fully supported. */
export const projectLegacyResult = (revision: LegacyRevision, method: string, result: JsonText): JsonText => {
  const known = projectFrame(revision, result)
  const list = listOfMethod(method)
  if (list !== undefined) {
    return projectEach(known, LISTS[list].member, item => projectItem(revision, list, item))
  }
  if (EMPTY_RESULTS.has(method)) return withoutMembers(known, at => !at.keyIs('_meta'))
  switch (method) {
    case 'tools/call':
    case 'tasks/result':
      return projectStructure(
        revision,
        projectEach(known, 'content', block => projectBlock(revision, block)),
      )
    case 'prompts/get':
      return projectEach(known, 'messages', message => projectMessage(revision, message))
    case 'resources/read':
      return projectEach(known, 'contents', entry => projectContents(revision, entry))
    case 'resources/directory/read':
      return projectEach(known, 'resources', entry => projectItem(revision, 'resources', entry))
    default:
      return known
  }
}

const projectEach = (result: JsonText, key: string, project: (element: JsonText) => JsonText): JsonText =>
  editMember(result, key, list => mapElements(list, project))

/** Returns whether a revision has structured output. */
export const knowsStructure = (revision: LegacyRevision): boolean => revision >= '2025-06-18'

/**
 * Wraps structured output that is not an object, like its schema (`projectOutputSchema`). Older clients get
 * the mirrored text only.
 */
const projectStructure = (revision: LegacyRevision, result: JsonText): JsonText => {
  const structure = memberOf(result, 'structuredContent')
  if (structure === undefined) return result
  const readable = withReadableContent(result)
  if (!knowsStructure(revision)) return withoutMember(readable, 'structuredContent')
  if (kindOf(structure) === 'object') return readable
  return withMember(readable, 'structuredContent', objectText([['result', structure]]))
}

/** Members of params that some servers do not know. */
const REQUEST_MEMBERS = ['_meta', 'task', 'context']

const holdsAny = (object: JsonText, keys: readonly string[]): boolean => {
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) for (const key of keys) if (at.keyIs(key)) return true
  return false
}

/** Projects params for a server of `revision`, without members of later revisions. */
export const projectLegacyRequest = (
  revision: LegacyRevision,
  method: string,
  params: JsonText | undefined,
): JsonText | undefined => {
  if (params === undefined || !holdsAny(params, REQUEST_MEMBERS)) return params
  const known = projectRequestMeta(revision, params)
  const strips = [
    ...(revision < '2025-06-18' && method === 'completion/complete' ? ['context'] : []),
    // A task is requested anew on each hop, if at all.
    ...(mayContain(known, '"task"') ? ['task'] : []),
  ]
  return strips.length === 0 ? known : withoutMember(known, ...strips)
}

/** Projected pages of lists, which the catalog keeps for many clients. */
const pages = new WeakMap<JsonText, Map<LegacyRevision, JsonText>>()

/** Projects like `projectResult`, but only once for each page of a list. */
export const projectLegacyOnce = (revision: LegacyRevision, method: string, result: JsonText): JsonText => {
  if (listOfMethod(method) === undefined) return projectLegacyResult(revision, method, result)
  let byRevision = pages.get(result)
  if (byRevision === undefined) {
    byRevision = new Map()
    pages.set(result, byRevision)
  }
  let projected = byRevision.get(revision)
  if (projected === undefined) {
    projected = projectLegacyResult(revision, method, result)
    byRevision.set(revision, projected)
  }
  return projected
}
