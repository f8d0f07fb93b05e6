import type { JsonCursor } from '../../../kernel/json/cursor.js'
import { mayHold, withoutInner } from '../../../kernel/json/edit.js'
import type { JsonText } from '../../../kernel/json/text.js'
import { RESERVED, TASK_KEYS } from '../../protocol.js'

/** A part of the reserved prefix that JSON writes one way only: `/` may also be `\/`. */
const RESERVED_WORD = 'modelcontextprotocol'

/** An object whose `_meta` lost some keys; a `_meta` that held nothing else goes too. */
const withoutMetaKeys = (holder: JsonText, isStrange: (at: JsonCursor) => boolean): JsonText =>
  mayHold(holder, RESERVED_WORD) ? withoutInner(holder, '_meta', isStrange) : holder

/** Params or a result without the reserved keys of `_meta`, which are set anew on each hop. */
export const withoutReservedMeta = (holder: JsonText): JsonText =>
  withoutMetaKeys(holder, at => at.keyStarts(RESERVED))

/** A result, item or block whose `_meta` holds no key that only 2025-11-25 has. */
export const projectMeta = (holder: JsonText): JsonText =>
  withoutMetaKeys(holder, at => TASK_KEYS.some(key => at.keyIs(key)))
