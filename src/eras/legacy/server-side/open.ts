import type { Clock } from '../../../kernel/async/clock.js'
import { Fault } from '../../../kernel/faults.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import type { Downlink } from '../../../model/links.js'
import { PipeCaller } from '../../../rpc/channel/caller.js'
import type { Conversation, ConversationListener } from '../../../rpc/channel/conversation.js'
import { HeldEnd } from '../../../rpc/channel/held-end.js'
import type { RemoteAddress } from '../../../rpc/http/reply.js'
import type { Channel } from '../../../wire/channel.js'
import type { HttpClient } from '../../../wire/http.js'
import { mayBeOlder } from '../../detect/probe-verdict.js'
import { LegacyDownlink, type LegacyLinkOptions } from './downlink.js'
import { type ClientIntroduction, type IsOtherEra, initialize } from './handshake.js'
import { Heartbeat } from './heartbeat.js'
import { HttpCaller } from './http-caller.js'
import { openSseChannel } from './sse-channel.js'

/** How long an HTTP+SSE server may take to open its event stream and to say where to POST. */
const ENDPOINT_MS = 10_000

/** What it takes to open a connection to a server, whatever carries it. */
export interface LinkOptions extends ClientIntroduction, LegacyLinkOptions {
  readonly timeoutMs: number
  /** For each step of the handshake; as long as `timeoutMs` if absent. */
  readonly initializeMs?: number | undefined
  /** How long a server may be silent before it is pinged; `Infinity` never pings. */
  readonly pingMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Those of the server; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/**
 * Performs the handshake in a conversation that `start` begins or returns. Resolves to undefined, with the
 * conversation open, if the answer is `elsewhere`. Rejects with a Fault, and the conversation is closed.
 */
export const tryLegacy = async (
  start: (listener: ConversationListener) => Conversation,
  options: LinkOptions,
  elsewhere: IsOtherEra,
): Promise<Downlink | undefined> => {
  const link = new LegacyDownlink(options)
  const conversation = start(link)
  link.attach(conversation)
  let heartbeat: Heartbeat | undefined
  try {
    const shaken = await initialize(conversation, options, limitsOf(options), elsewhere)
    if (shaken === undefined) return undefined
    if (options.pingMs !== Number.POSITIVE_INFINITY) heartbeat = new Heartbeat(conversation, options)
    link.established(shaken.revision, shaken.facts, heartbeat)
    return link
  } catch (thrown) {
    heartbeat?.stop()
    void conversation.close()
    throw thrown
  }
}

const limitsOf = ({ clock, signal, timeoutMs, initializeMs = timeoutMs }: LinkOptions) => ({
  clock,
  signal,
  timeoutMs: initializeMs,
})

/** Every refusal is one: nothing else is spoken. */
const nowhere: IsOtherEra = () => false

/**
 * Opens a connection over a channel, such as a child's pipes. Rejects with a Fault and closes the channel.
 */
export const openLegacyPipe = async (channel: Channel, options: LinkOptions): Promise<Downlink> => {
  const link = await tryLegacy(listener => new PipeCaller(channel, listener, options), options, nowhere)
  if (link === undefined) throw new Fault('internal', 'The handshake led nowhere')
  return link
}

/** Opens an HTTP+SSE session (2024-11-05). Rejects with a Fault and leaves nothing behind. */
export const openLegacySse = async (
  http: HttpClient,
  to: RemoteAddress,
  options: LinkOptions,
): Promise<Downlink> => {
  const { bounds, clock, log, signal, timeoutMs } = options
  const connectTimeoutMs = Math.min(timeoutMs, ENDPOINT_MS)
  return openLegacyPipe(
    await openSseChannel(http, to, { bounds, clock, log, signal, connectTimeoutMs }),
    options,
  )
}

/** The HTTP transports of the legacy era. */
export type LegacyHttp = 'http' | 'sse'

/** A session that was opened over HTTP, and how. */
export interface LegacyRemote {
  readonly link: Downlink
  readonly via: LegacyHttp
}

/** What else than a session over Streamable HTTP there may be behind a URL. */
export interface OtherWays {
  /** Whether it may speak HTTP+SSE. */
  readonly hasSse: boolean
  readonly elsewhere: IsOtherEra
}

/**
 * Opens a session over Streamable HTTP, or over HTTP+SSE if that is refused (2025-03-26, basic/transports,
 * "Backwards Compatibility"). Resolves to undefined if the answer is `elsewhere`. Rejects with the Fault of
 * the first try, caused by that of the second. Leaves nothing behind but the session.
 */
export const tryLegacyUrl = async (
  http: HttpClient,
  to: RemoteAddress,
  options: LinkOptions,
  { hasSse, elsewhere }: OtherWays,
): Promise<LegacyRemote | undefined> => {
  const heldEnd = new HeldEnd(options.listener)
  let conversation: Conversation | undefined
  const start = (listener: ConversationListener): Conversation => {
    conversation = new HttpCaller(http, to, listener, options)
    return conversation
  }
  try {
    const link = await tryLegacy(start, { ...options, listener: heldEnd }, elsewhere)
    if (link === undefined) {
      await conversation?.close()
      return undefined
    }
    heldEnd.release()
    return { link, via: 'http' }
  } catch (thrown) {
    const first = Fault.from(thrown)
    if (!hasSse || !allowsFallback(first)) throw first
    options.log.debug({ why: first.message }, 'the server refused Streamable HTTP; trying HTTP+SSE')
    return { link: await orElse(first, openLegacySse(http, to, options), options.log), via: 'sse' }
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

const allowsFallback = ({ data }: Fault): boolean => {
  const status = data?.['httpStatus']
  return typeof status === 'number' && mayBeOlder(status)
}
