import type { JsonCursor } from '../../../kernel/json/cursor.js'
import { mayContain, withoutInner } from '../../../kernel/json/edit.js'
import type { JsonText } from '../../../kernel/json/text.js'
import { RESERVED, TASK_KEYS } from '../../protocol.js'

/** Part of the reserved prefix that JSON spells in one way only: `/` may also be `\/`. */
const RESERVED_WORD = 'modelcontextprotocol'

/** Removes keys from `_meta`; a `_meta` left empty goes too. */
const withoutMetaKeys = (holder: JsonText, isStrange: (at: JsonCursor) => boolean): JsonText =>
  mayContain(holder, RESERVED_WORD) ? withoutInner(holder, '_meta', isStrange) : holder

/** Params or a result without the reserved keys of `_meta`, which are set anew on each hop. */
export const withoutReservedMeta = (holder: JsonText): JsonText =>
  withoutMetaKeys(holder, at => at.keyStarts(RESERVED))

/** Removes the `_meta` keys that only 2025-11-25 has. */
export const projectMeta = (holder: JsonText): JsonText =>
  withoutMetaKeys(holder, at => TASK_KEYS.some(key => at.keyIs(key)))
