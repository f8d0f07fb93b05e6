import { editMember, withoutInner } from '../../../kernel/json/edit.js'
import { type JsonText, kindOf, withoutMember } from '../../../kernel/json/text.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { META, RESERVED, TASK_KEYS } from '../../protocol.js'

/** Keys that 2026-07-28 puts into `_meta`; no older peer may see them. */
const MODERN_KEYS: readonly string[] = Object.values(META)

/** Removes the `_meta` keys that are newer than the client's revision. */
export const projectMeta = (revision: LegacyRevision, holder: JsonText): JsonText => {
  const strange = revision < '2025-11-25' ? [...MODERN_KEYS, ...TASK_KEYS] : MODERN_KEYS
  return withoutInner(holder, '_meta', at => at.keyStarts(RESERVED) && strange.some(key => at.keyIs(key)))
}

/** The same for items and blocks, which have `_meta` since 2025-06-18. */
export const projectInnerMeta = (revision: LegacyRevision, holder: JsonText): JsonText =>
  revision < '2025-06-18' ? withoutMember(holder, '_meta') : projectMeta(revision, holder)

/** Request params for a server: of the reserved keys, legacy revisions know only that of a task. */
export const projectRequestMeta = (revision: LegacyRevision, params: JsonText): JsonText =>
  withoutInner(
    params,
    '_meta',
    at => at.keyStarts(RESERVED) && !(revision >= '2025-11-25' && at.keyIs(`${RESERVED}related-task`)),
  )

/** `Annotations` of a resource or block; `lastModified` exists since 2025-06-18. */
export const projectAnnotations = (revision: LegacyRevision, holder: JsonText): JsonText =>
  revision < '2025-06-18'
    ? editMember(holder, 'annotations', annotations =>
        kindOf(annotations) === 'object' ? withoutMember(annotations, 'lastModified') : annotations,
      )
    : holder
