import { JsonCursor } from '../../../kernel/json/cursor.js'
import { editMember, mayHold } from '../../../kernel/json/edit.js'
import { OPEN_OBJECT } from '../../../kernel/json/scan.js'
import {
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  objectText,
  withMember,
  withoutMember,
  withoutMembers,
} from '../../../kernel/json/text.js'
import { withReadableContent } from '../../../model/content.js'
import { isListMethod, LIST_METHODS } from '../../../model/listing.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { projectBlock, projectContents, projectMessage } from './content.js'
import { projectItem } from './items.js'
import { projectMeta, projectRequestMeta } from './meta.js'

// What clients of an older revision do not know is taken away or said in an older form. They check what they
// get against closed schemas, and one strange part costs them the whole result or list.

/** Members that 2026-07-28 gave to results; in an empty result they are fatal to SDK clients. */
const MODERN_MEMBERS = ['resultType', 'ttlMs', 'cacheScope']
const MODERN_KEYS = MODERN_MEMBERS.map(name => `"${name}"`)

/** Requests whose result is empty: clients allow `_meta` in it and nothing else. */
const EMPTY_RESULTS: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

const projectFrame = (revision: LegacyRevision, result: JsonText): JsonText => {
  const known = mayHold(result, ...MODERN_KEYS) ? withoutMember(result, ...MODERN_MEMBERS) : result
  return projectMeta(revision, known)
}

/** A page of a list for a client of `revision`; the same reference if it knows all that is in it. */
export const projectListResult = (revision: LegacyRevision, method: string, result: JsonText): JsonText => {
  const known = projectFrame(revision, result)
  if (!isListMethod(method)) return known
  const { list, member } = LIST_METHODS[method]
  return projectEach(known, member, item => projectItem(revision, list, item))
}

/** A result for a client of `revision`; the same reference if it knows all that is in it. */
export const projectResult = (revision: LegacyRevision, method: string, result: JsonText): JsonText => {
  if (isListMethod(method)) return projectListResult(revision, method, result)
  const known = projectFrame(revision, result)
  if (EMPTY_RESULTS.has(method)) return withoutMembers(known, at => !at.keyIs('_meta'))
  switch (method) {
    case 'tools/call':
      return projectStructure(
        revision,
        projectEach(known, 'content', block => projectBlock(revision, block)),
      )
    case 'prompts/get':
      return projectEach(known, 'messages', message => projectMessage(revision, message))
    case 'resources/read':
      return projectEach(known, 'contents', entry => projectContents(revision, entry))
    default:
      return known
  }
}

const projectEach = (result: JsonText, key: string, project: (element: JsonText) => JsonText): JsonText =>
  editMember(result, key, list => mapElements(list, project))

/**
 * Structured output exists since 2025-06-18, as an object: anything else is put into one, as `projectOutputSchema` says.
 * Before, it is only the text that mirrors it.
 */
const projectStructure = (revision: LegacyRevision, result: JsonText): JsonText => {
  const structure = memberOf(result, 'structuredContent')
  if (structure === undefined) return result
  const readable = withReadableContent(result)
  if (revision < '2025-06-18') return withoutMember(readable, 'structuredContent')
  if (kindOf(structure) === 'object') return readable
  return withMember(readable, 'structuredContent', objectText([['result', structure]]))
}

/** What of a request not every server knows. */
const REQUEST_MEMBERS = ['_meta', 'task', 'context']

const holdsAny = (object: JsonText, keys: readonly string[]): boolean => {
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) for (const key of keys) if (at.keyIs(key)) return true
  return false
}

/** Params for a server of `revision`, without what only newer servers know. */
export const projectRequest = (
  revision: LegacyRevision,
  method: string,
  params: JsonText | undefined,
): JsonText | undefined => {
  if (params === undefined || !holdsAny(params, REQUEST_MEMBERS)) return params
  const known = projectRequestMeta(revision, params)
  const strips = [
    ...(revision < '2025-06-18' && method === 'completion/complete' ? ['context'] : []),
    // Nobody was told that we know tasks, so nobody asked for one (2025-11-25, utilities/tasks).
    ...(mayHold(known, '"task"') ? ['task'] : []),
  ]
  return strips.length === 0 ? known : withoutMember(known, ...strips)
}
