import { type JsonText, keptOnOneLine } from '../../../kernel/json/text.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { projectListResult, projectResult } from './messages.js'

const LISTS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
])

/** Pages of lists are kept by the catalogue and sent to many clients: each is projected once per revision. */
const pages = new WeakMap<JsonText, Map<LegacyRevision, JsonText>>()

/** A result as a client of `revision` may read it; the same reference when nothing had to change. */
export const projectOnce = (revision: LegacyRevision, method: string, result: JsonText): JsonText => {
  if (!LISTS.has(method)) return projectResult(revision, method, result)
  let byRevision = pages.get(result)
  if (byRevision === undefined) {
    byRevision = new Map()
    pages.set(result, byRevision)
  }
  let projected = byRevision.get(revision)
  if (projected === undefined) {
    projected = keptOnOneLine(projectListResult(revision, method, result))
    byRevision.set(revision, projected)
  }
  return projected
}
