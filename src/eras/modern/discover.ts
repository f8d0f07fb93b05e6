import { type JsonText, objectText, textOf } from '../../kernel/json-text.js'
import { type CacheHints, withCacheHints } from '../../model/cache-hints.js'
import type { Welcome } from '../../model/links.js'
import { encodeServerCapabilities } from './encode.js'
import { MODERN_REVISION } from './methods.js'
import { withResultType, withServerInfo } from './result-type.js'

/**
 * The result of `server/discover` (server/discover). Only this revision is offered: a listed version must be
 * usable in an envelope, and the older ones have none. `identity` is our `Implementation` object.
 */
export const writeDiscover = (welcome: Welcome, identity: JsonText, hints: CacheHints): JsonText => {
  const body = objectText([
    ['supportedVersions', textOf([MODERN_REVISION])],
    ['capabilities', encodeServerCapabilities(welcome)],
    ...(welcome.instructions === undefined ? [] : [['instructions', textOf(welcome.instructions)] as const]),
  ])
  return withServerInfo(withCacheHints(withResultType(body, 'complete'), hints), identity)
}
