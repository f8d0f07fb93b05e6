import type { Clock } from '../../../kernel/async/clock.js'
import { within } from '../../../kernel/async/deadline.js'
import { Fault } from '../../../kernel/faults.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import type { Downlink, ServerSession } from '../../../model/links.js'
import { type Answer, answerOf } from '../../../model/outcome.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { errorCode, RPC_CODES } from '../../../model/rpc-error.js'
import { PipeCaller } from '../../../rpc/channel/caller.js'
import { type Conversation, type ConversationListener, outcomeOf } from '../../../rpc/channel/conversation.js'
import type { RemoteAddress } from '../../../rpc/http/reply.js'
import type { Channel } from '../../../wire/channel.js'
import type { HttpClient } from '../../../wire/http.js'
import { BufferedClose } from '../../shared/buffered-close.js'
import { mayBeOlder } from '../../shared/probe-verdict.js'
import {
  type InitializeOptions,
  initializeParams,
  type LegacyFacts,
  otherRevision,
  readInitializeResult,
  UnknownRevision,
} from '../initialize-params.js'
import { LegacyDownlink, type LegacyLinkOptions } from './downlink.js'
import { LegacyHttpCaller } from './http-caller.js'
import { readSavedSession } from './saved-session.js'
import { openSseChannel } from './sse-channel.js'

/** Decides whether an answer to `initialize` calls for another era. */
export type IsOtherEra = (answer: Answer) => boolean

/** Options for opening a connection, over any transport. */
export interface LinkOptions extends InitializeOptions, LegacyLinkOptions {
  readonly timeoutMs: number
  /** The timeout of each step of the handshake; `timeoutMs` if absent. */
  readonly initializeMs?: number | undefined
  /** The time of silence before a ping; `Infinity` disables pings. */
  readonly pingMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
  /** The server's limits; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  /** Stores a session over Streamable HTTP for other replicas. */
  readonly session?: ServerSession | undefined
  /** The reason for which the previous connection was lost. */
  readonly lastLoss?: string | undefined
}

/**
 * Performs the handshake in a conversation that `start` begins or returns. If the answer is `elsewhere`,
 * resolves to undefined and leaves the conversation open. Rejects with a Fault and closes it.
 */
export const tryLegacy = async (
  start: (listener: ConversationListener) => Conversation,
  options: LinkOptions,
  elsewhere: IsOtherEra,
): Promise<Downlink | undefined> => {
  const link = new LegacyDownlink(options)
  const conversation = start(link)
  link.attach(conversation)
  try {
    const facts = await initialize(conversation, options, elsewhere)
    if (facts === undefined) return undefined
    link.established(facts, options)
    return link
  } catch (thrown) {
    void conversation.close()
    throw thrown
  }
}

/**
 * Initializes a session (basic/lifecycle, "Initialization"): accepts any legacy revision, and sends
 * `notifications/initialized` before anything else. A server that rejects ours with a list is asked once more
 * with the newest known one.
 */
const initialize = async (
  conversation: Conversation,
  options: LinkOptions,
  elsewhere: IsOtherEra,
): Promise<LegacyFacts | undefined> => {
  const { offer } = options
  if (options.signal.aborted) throw new Fault('cancelled', 'The connection attempt was cancelled')
  let answer = await sendInitialize(conversation, options, offer)
  const other = elsewhere(answer) ? undefined : otherRevision(answer, offer)
  if (other !== undefined) answer = await sendInitialize(conversation, options, other)
  if (elsewhere(answer)) return undefined
  const facts = readInitializeResult(answer)
  conversation.agreed(facts.revision)
  await inTime(conversation.notify('notifications/initialized', undefined), options)
  return facts
}

const sendInitialize = async (
  conversation: Conversation,
  options: LinkOptions,
  version: LegacyRevision,
): Promise<Answer> => {
  const id = conversation.nextId()
  try {
    const outcome = outcomeOf(conversation, id, 'initialize', initializeParams(options, version))
    return answerOf(await inTime(outcome, options))
  } finally {
    // No `notifications/cancelled`: a client must not cancel `initialize` (utilities/cancellation).
    conversation.forget(id)
  }
}

/** Waits for one step of the handshake. */
const inTime = <T>(
  step: Promise<T>,
  { clock, signal, timeoutMs, initializeMs: ms = timeoutMs }: LinkOptions,
): Promise<T> => {
  const message = `No answer to initialize within ${Math.round(ms / 1000)} s`
  return within(step, { clock, ms, signal, timedOut: () => new Fault('timeout', message) })
}

/** Takes every rejection as final. */
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
): Promise<Downlink> => openLegacyPipe(await openSseChannel(http, to, options), options)

/** The HTTP transports of the legacy era. */
export type LegacyHttp = 'http' | 'sse'

export interface LegacyRemote {
  readonly link: Downlink
  readonly via: LegacyHttp
}

/** The alternatives to a Streamable HTTP session. */
export interface OtherWays {
  readonly hasSse: boolean
  readonly elsewhere: IsOtherEra
}

/**
 * Opens a session over Streamable HTTP, or over HTTP+SSE if the server rejects that (2025-03-26,
 * basic/transports, "Backwards Compatibility"). Resolves to undefined if the answer is `elsewhere`. Rejects
 * with the Fault of the first attempt, with the second as its cause, unless an HTTP+SSE server chose an
 * unknown revision. Leaves nothing behind but the session.
 */
export const tryLegacyUrl = async (
  http: HttpClient,
  to: RemoteAddress,
  options: LinkOptions,
  { hasSse, elsewhere }: OtherWays,
): Promise<LegacyRemote | undefined> => {
  const bufferedClose = new BufferedClose(options.listener)
  let conversation: LegacyHttpCaller | undefined
  const start = (listener: ConversationListener): Conversation => {
    conversation = new LegacyHttpCaller(http, to, listener, options)
    return conversation
  }
  try {
    const link = await tryLegacy(start, { ...options, listener: bufferedClose }, elsewhere)
    if (link === undefined) {
      await conversation?.close()
      return undefined
    }
    conversation?.saveSession(link.facts)
    bufferedClose.release()
    return { link, via: 'http' }
  } catch (thrown) {
    const first = Fault.from(thrown)
    if (!hasSse || !allowsFallback(first)) throw first
    options.log.debug({ why: first.message }, 'the server refused Streamable HTTP; trying HTTP+SSE')
    return { link: await orElse(first, openLegacySse(http, to, options), options.log), via: 'sse' }
  }
}

/**
 * Resumes a session saved by another replica, instead of the handshake. Resolves to undefined if there is
 * none, or the server no longer knows it. Never rejects.
 */
export const resumeLegacyUrl = async (
  http: HttpClient,
  to: RemoteAddress,
  options: LinkOptions,
): Promise<Downlink | undefined> => {
  const saved = options.session && readSavedSession(options.session.saved(), to.url)
  if (saved === undefined) return undefined
  const listener = new BufferedClose(options.listener)
  // Without a probe, the server may support another era as well.
  const link = new LegacyDownlink({ ...options, listener, hasOtherMode: true })
  const conversation = new LegacyHttpCaller(http, to, link, options)
  link.attach(conversation)
  conversation.resumeSession(saved)
  try {
    const pong = await inTime(outcomeOf(conversation, conversation.nextId(), 'ping', undefined), options)
    // A server without `ping` still knows the session.
    const isKnown =
      pong.kind === 'result' ||
      (pong.kind === 'error' && errorCode(pong.error) === RPC_CODES['unknown-method'])
    if (!isKnown) throw new Fault('session-lost', 'The server no longer knows the session')
    link.established(saved.facts, options)
  } catch (thrown) {
    options.log.info({ why: Fault.from(thrown).message }, 'could not resume the session of another replica')
    void conversation.close()
    return undefined
  }
  conversation.saveSession(saved.facts)
  void conversation.listen()
  listener.release()
  return link
}

/** Resolves to the second attempt, or rejects with the first failure. */
const orElse = async (first: Fault, second: Promise<Downlink>, log: Logger): Promise<Downlink> => {
  try {
    return await second
  } catch (thrown) {
    const fault = Fault.from(thrown)
    log.info({ why: fault.message }, 'the server cannot be reached over HTTP+SSE either')
    if (fault instanceof UnknownRevision) throw fault
    throw new Fault(first.code, first.message, {
      cause: thrown,
      data: first.data,
      remote: first.remote,
    })
  }
}

const allowsFallback = ({ data }: Fault): boolean => {
  const status = data?.['httpStatus']
  return typeof status === 'number' && mayBeOlder(status)
}
