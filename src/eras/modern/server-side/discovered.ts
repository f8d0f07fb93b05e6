import { at, type JsonText } from '../../../kernel/json/text.js'
import { NO_CAPABILITIES, type ServerFacts } from '../../../model/peer.js'
import { announcedIn } from '../../../rpc/capabilities.js'
import { withEnvelope } from '../envelope.js'
import { META, MODERN_REVISION } from '../methods.js'

/**
 * What a `DiscoverResult` says about a server (server/discover). Who it is stands in `_meta`; early servers of this revision
 * said so in the body.
 */
export const factsOf = (discovered: JsonText): ServerFacts => ({
  revision: MODERN_REVISION,
  ...announcedIn(discovered, at(discovered, '_meta', META.serverInfo)),
})

/** Params of a `server/discover` in a version of this era; `identity` is our `Implementation` object. */
export const discoverParams = (version: string, identity: JsonText): JsonText =>
  withEnvelope(undefined, { version, capabilities: NO_CAPABILITIES, clientInfo: identity })
