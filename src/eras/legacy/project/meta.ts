import { editMember, withoutInner } from '../../../kernel/json/edit.js'
import { type JsonText, kindOf, withoutMember } from '../../../kernel/json/text.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { META, RESERVED, TASK_KEYS } from '../../shared/protocol.js'

/** `_meta` keys of 2026-07-28, which older peers must not see. */
const MODERN_KEYS: readonly string[] = Object.values(META)

/** Removes `_meta` keys that the client's revision does not define. */
export const projectLegacyMeta = (revision: LegacyRevision, holder: JsonText): JsonText => {
  const strange = revision < '2025-11-25' ? [...MODERN_KEYS, ...TASK_KEYS] : MODERN_KEYS
  return withoutInner(holder, '_meta', at => at.keyStarts(RESERVED) && strange.some(key => at.keyIs(key)))
}

/** The same for items and blocks, which have `_meta` since 2025-06-18. */
export const projectInnerMeta = (revision: LegacyRevision, holder: JsonText): JsonText =>
  revision < '2025-06-18' ? withoutMember(holder, '_meta') : projectLegacyMeta(revision, holder)

/**
 * Removes reserved `_meta` keys from params for a server; legacy revisions define only the one for tasks.
 */
export const projectRequestMeta = (revision: LegacyRevision, params: JsonText): JsonText =>
  withoutInner(
    params,
    '_meta',
    at => at.keyStarts(RESERVED) && !(revision >= '2025-11-25' && at.keyIs(`${RESERVED}related-task`)),
  )

/** Removes the envelope of 2026-07-28 from params or a result of a method that the proxy does not know. */
export const withoutModernMeta = (holder: JsonText): JsonText =>
  withoutInner(holder, '_meta', at => at.keyStarts(RESERVED) && MODERN_KEYS.some(key => at.keyIs(key)))

/** Projects the `Annotations` of a resource or block; `lastModified` exists since 2025-06-18. */
export const projectAnnotations = (revision: LegacyRevision, holder: JsonText): JsonText =>
  revision < '2025-06-18'
    ? editMember(holder, 'annotations', annotations =>
        kindOf(annotations) === 'object' ? withoutMember(annotations, 'lastModified') : annotations,
      )
    : holder
