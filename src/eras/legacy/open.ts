import type { Clock } from '../../kernel/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json-text.js'
import type { Logger } from '../../kernel/logger.js'
import type { Ask, DownCall, Downlink, DownlinkListener } from '../../model/links.js'
import type { Conversation, ConversationListener } from '../../rpc/conversation.js'
import { PipeCaller } from '../../rpc/pipe-caller.js'
import type { Channel } from '../../wire/channel.js'
import type { HttpClient } from '../../wire/http.js'
import { LegacyDownlink } from './downlink.js'
import { type Introduction, shakeHands } from './handshake.js'
import { Heartbeat } from './heartbeat.js'
import { HttpCaller } from './http-caller.js'
import type { RemoteAddress } from './http-remote.js'
import { openSseChannel } from './sse-channel.js'

/** How long an HTTP+SSE server may take to open its event stream and to say where to POST. */
const ENDPOINT_MS = 10_000
/** Refusals that are about the moment or about who we are, not about what the server speaks. */
const NO_FALLBACK: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429])

/** What it takes to open a connection to a server, whatever carries it. */
export interface LinkOptions extends Introduction {
  /** The server's name, for errors and logs. */
  readonly server: string
  readonly listener: DownlinkListener
  readonly timeoutMs: number
  /** How long a server may be silent before it is pinged; `Infinity` never pings. */
  readonly pingMs: number
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
  to: RemoteAddress,
  options: LinkOptions,
): Promise<Downlink> => open(listener => new HttpCaller(http, to, listener, options), options)

/** Opens a session over HTTP+SSE, the transport of 2024-11-05. Rejects with a Fault and leaves nothing behind. */
export const openLegacySse = async (
  http: HttpClient,
  to: RemoteAddress,
  options: LinkOptions,
): Promise<Downlink> => {
  const { clock, log, signal, timeoutMs } = options
  const connectTimeoutMs = Math.min(timeoutMs, ENDPOINT_MS)
  return openLegacyPipe(await openSseChannel(http, to, { clock, log, signal, connectTimeoutMs }), options)
}

/**
 * Opens a session with a server of which only the URL is known: over Streamable HTTP, or over HTTP+SSE if that is
 * refused (2025-03-26, basic/transports, "Backwards Compatibility"). Rejects with the Fault of the first try, whose
 * cause is then that of the second, and leaves nothing behind.
 */
export const openLegacyUrl = async (
  http: HttpClient,
  to: RemoteAddress,
  options: LinkOptions,
): Promise<Downlink> => {
  const ears = new HeldEnd(options.listener)
  try {
    const link = await openLegacyHttp(http, to, { ...options, listener: ears })
    ears.release()
    return link
  } catch (thrown) {
    const first = Fault.from(thrown)
    if (!allowsFallback(first)) throw first
    options.log.debug({ why: first.message }, 'the server refused Streamable HTTP; trying HTTP+SSE')
    return await orElse(first, openLegacySse(http, to, options), options.log)
  }
}

/** What came of the second try; if that failed too, the first failure. */
const orElse = async (first: Fault, second: Promise<Downlink>, log: Logger): Promise<Downlink> => {
  try {
    return await second
  } catch (thrown) {
    log.info({ why: Fault.from(thrown).message }, 'the server cannot be reached over HTTP+SSE either')
    throw new Fault(first.code, first.message, {
      cause: thrown,
      ...(first.data !== undefined && { data: first.data }),
    })
  }
}

/** Later revisions list 400, 404 and 405; the earlier ones, whose servers these are, say any 4xx. */
const allowsFallback = ({ data }: Fault): boolean => {
  const status = data?.['httpStatus']
  return typeof status === 'number' && status >= 400 && status < 500 && !NO_FALLBACK.has(status)
}

/** Passes on what a link says, but its end only once it is the link to be used: another one may follow a failed try. */
class HeldEnd implements DownlinkListener {
  readonly #listener: DownlinkListener
  #end: Fault | undefined
  #isReleased = false

  constructor(listener: DownlinkListener) {
    this.#listener = listener
  }

  asked(ask: Ask): void {
    this.#listener.asked(ask)
  }

  noticed(method: string, params: JsonText | undefined, about: DownCall | undefined): void {
    this.#listener.noticed(method, params, about)
  }

  closed(fault: Fault): void {
    this.#end = fault
    if (this.#isReleased) this.#listener.closed(fault)
  }

  release(): void {
    this.#isReleased = true
    if (this.#end !== undefined) this.#listener.closed(this.#end)
  }
}

const open = async (
  start: (listener: ConversationListener) => Conversation,
  options: LinkOptions,
): Promise<Downlink> => {
  const link = new LegacyDownlink(options.server, options.listener, options.log)
  const talk = start(link)
  link.attach(talk)
  let heartbeat: Heartbeat | undefined
  try {
    const { revision, facts } = await shakeHands(talk, options, options)
    if (options.pingMs !== Number.POSITIVE_INFINITY) heartbeat = new Heartbeat(talk, options)
    link.established(revision, facts, heartbeat)
    return link
  } catch (thrown) {
    heartbeat?.stop()
    void talk.close()
    throw thrown
  }
}
