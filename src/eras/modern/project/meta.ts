import type { JsonCursor } from '../../../kernel/json/cursor.js'
import { mayContain, withoutInner } from '../../../kernel/json/edit.js'
import type { JsonText } from '../../../kernel/json/text.js'
import { META, RESERVED, TASK_KEYS } from '../../shared/protocol.js'

/** The part of the reserved prefix that has a single JSON spelling: `/` may also be `\/`. */
const RESERVED_WORD = 'modelcontextprotocol'

const ENVELOPE_KEYS: readonly string[] = Object.values(META)

/** Removes keys from `_meta`, and an emptied `_meta` itself. */
const withoutMetaKeys = (holder: JsonText, isStrange: (at: JsonCursor) => boolean): JsonText =>
  mayContain(holder, RESERVED_WORD) ? withoutInner(holder, '_meta', isStrange) : holder

/** Removes the reserved keys of `_meta`, which each hop sets for itself. */
export const withoutReservedMeta = (holder: JsonText): JsonText =>
  withoutMetaKeys(holder, at => at.keyStarts(RESERVED))

/** Removes the keys of the envelope, which each hop sets for itself; others belong to extensions. */
export const withoutEnvelope = (holder: JsonText): JsonText =>
  withoutMetaKeys(holder, at => ENVELOPE_KEYS.some(key => at.keyIs(key)))

/** Removes the `_meta` keys that exist only in 2025-11-25. */
export const projectModernMeta = (holder: JsonText): JsonText =>
  withoutMetaKeys(holder, at => TASK_KEYS.some(key => at.keyIs(key)))
