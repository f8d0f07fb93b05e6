import type { Clock } from '../../kernel/clock.js'
import type { Logger } from '../../kernel/logger.js'
import type { Downlink, DownlinkListener } from '../../model/links.js'
import type { Conversation, ConversationListener } from '../../rpc/conversation.js'
import { PipeCaller } from '../../rpc/pipe-caller.js'
import type { Channel } from '../../wire/channel.js'
import type { HttpClient } from '../../wire/http.js'
import { LegacyDownlink } from './downlink.js'
import { type Introduction, shakeHands } from './handshake.js'
import { HttpCaller } from './http-caller.js'

/** What it takes to open a connection to a server, whatever carries it. */
export interface LinkOptions extends Introduction {
  /** The server's name, for errors and logs. */
  readonly server: string
  readonly listener: DownlinkListener
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Logger
}

/** Opens a connection over a channel, such as a child's pipes. Rejects with a Fault and leaves the channel closed. */
export const openLegacyPipe = (channel: Channel, options: LinkOptions): Promise<Downlink> =>
  open(listener => new PipeCaller(channel, listener, options), options)

/** Opens a session over Streamable HTTP. Rejects with a Fault and leaves nothing behind. */
export const openLegacyHttp = (
  http: HttpClient,
  to: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  options: LinkOptions,
): Promise<Downlink> => open(listener => new HttpCaller(http, to, listener, options), options)

const open = async (
  start: (listener: ConversationListener) => Conversation,
  options: LinkOptions,
): Promise<Downlink> => {
  const link = new LegacyDownlink(options.server, options.listener, options.log)
  const talk = start(link)
  link.attach(talk)
  try {
    const { revision, facts } = await shakeHands(talk, options, options)
    link.established(revision, facts)
    return link
  } catch (thrown) {
    void talk.close()
    throw thrown
  }
}
