import { at, type JsonText } from '../../../kernel/json/text.js'
import type { Downlink } from '../../../model/links.js'
import type { ServerFacts } from '../../../model/peer.js'
import { announcedIn } from '../../../rpc/capabilities.js'
import type { Conversation, ConversationListener } from '../../../rpc/channel/conversation.js'
import type { RemoteAddress } from '../../../rpc/http/reply.js'
import type { HttpClient } from '../../../wire/http.js'
import { META, MODERN_REVISION } from '../../shared/protocol.js'
import { ModernDownlink, type ModernLinkOptions } from './downlink.js'
import { type HttpCallerOptions, ModernHttpCaller } from './http-caller.js'
import { ToolSchemas } from './tool-schemas.js'

/** Options for opening a connection to a modern server. */
export interface ModernOptions extends ModernLinkOptions {
  /** Its `DiscoverResult`, which completes the negotiation. */
  readonly discovered: JsonText
}

/** Opens a connection over a pipe, in a conversation that `start` begins or returns. */
export const openModernPipe = (
  start: (listener: ConversationListener) => Conversation,
  options: ModernOptions,
): Downlink => {
  const link = new ModernDownlink(factsOf(options.discovered), undefined, options)
  link.attach(start(link))
  return link
}

/** Opens a connection over HTTP, without sending anything. */
export const openModernHttp = (
  http: HttpClient,
  to: RemoteAddress,
  options: ModernOptions & Pick<HttpCallerOptions, 'nextId'>,
): Downlink => {
  const schemas = new ToolSchemas(options.log)
  const link = new ModernDownlink(factsOf(options.discovered), schemas, options)
  link.attach(new ModernHttpCaller(http, to, link, { ...options, schemaOf: tool => schemas.of(tool) }))
  return link
}

/**
 * Reads a `DiscoverResult` (server/discover). Early servers put `serverInfo` into the body instead of
 * `_meta`.
 */
const factsOf = (discovered: JsonText): ServerFacts => ({
  revision: MODERN_REVISION,
  ...announcedIn(discovered, at(discovered, '_meta', META.serverInfo)),
})
