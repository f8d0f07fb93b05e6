import { type JsonText, objectText, textOf } from '../../../kernel/json/text.js'
import type { Welcome } from '../../../model/links.js'
import { encodeServerCapabilities } from '../encode.js'
import { MODERN_REVISION } from '../methods.js'

/**
 * The result of `server/discover` (server/discover), without what all results carry. Only this revision is offered: a listed
 * version must be usable in an envelope, and the older ones have none.
 */
export const writeDiscover = (welcome: Welcome): JsonText =>
  objectText([
    ['supportedVersions', textOf([MODERN_REVISION])],
    ['capabilities', encodeServerCapabilities(welcome)],
    ...(welcome.instructions === undefined ? [] : [['instructions', textOf(welcome.instructions)] as const]),
  ])
