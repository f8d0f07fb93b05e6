import type { Timer } from '../../../kernel/async/clock.js'
import { within } from '../../../kernel/async/deadline.js'
import { Deferred } from '../../../kernel/async/deferred.js'
import type { Semaphore } from '../../../kernel/async/semaphore.js'
import { Fault } from '../../../kernel/faults.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import { SESSION_LOST } from '../../../model/failure.js'
import type { CallerContext } from '../../../rpc/channel/caller.js'
import { fetchReply, type RemoteReply } from '../../../rpc/http/fetch-reply.js'
import { type HttpRefusal, readRefusal, statedIn } from '../../../rpc/http/refusal.js'
import {
  type BodyParts,
  type RemoteAddress,
  type StatedReason,
  statusFault,
} from '../../../rpc/http/reply.js'
import type { Channel, ChannelListener } from '../../../wire/channel.js'
import { classify } from '../../../wire/classify.js'
import { type SseEvent, type SseHandlers, SseReader } from '../../../wire/framing/sse-read.js'
import { mediaTypeOf } from '../../../wire/http/headers.js'
import type { HttpClient, OutboundRequest } from '../../../wire/http.js'
import { encodeRequest } from '../../../wire/jsonrpc.js'
import { type OutgoingMessage, whole } from '../../../wire/message-parts.js'
import { isSafe } from '../../shared/safe-methods.js'
import { lossText, PROBE_MS, type SessionLoss, sessionLossIn } from './lost-session.js'
import { createPostSemaphore } from './posts.js'

/** The time for the server to open its event stream and send the endpoint. */
const ENDPOINT_MS = 10_000
/** The time a message of the handshake waits for the previous POST. */
const TURN_MS = 10_000
/** An unanswered POST occupies a connection, so it counts as at least this much. */
const POST_BYTES = 8 * 1024
/** Above this the server counts as behind. */
const SLOW_BYTES = 1024 * 1024
/** The time for the answers to other messages after the session was lost. */
const RETIRE_MS = 5000
/** The unanswered POSTs at which the session is closed. */
const POSTS_MAX = 2048

/** Shows whether the server knows the session; its answer, with an id of no request, is dropped. */
const PROBE = encodeRequest('mcp-proxy-probe', 'ping', undefined)

/** Options for opening an HTTP+SSE session. */
export interface SseChannelOptions extends CallerContext {
  readonly timeoutMs: number
  /** Aborts the opening; has no effect once the channel is open. */
  readonly signal: AbortSignal
}

/**
 * Opens an HTTP+SSE session (2024-11-05, basic/transports, "HTTP with SSE") at the URL of its event stream.
 * Rejects with a Fault: `unauthorized`, `timeout`, `cancelled`, or `unavailable` when there is no such stream
 * or its endpoint is on another origin.
 */
export const openSseChannel = async (
  http: HttpClient,
  to: RemoteAddress,
  options: SseChannelOptions,
): Promise<Channel> => {
  const { clock, signal, timeoutMs } = options
  const stop = new AbortController()
  const ms = Math.min(timeoutMs, ENDPOINT_MS)
  const reason = `The server named no endpoint for messages within ${Math.round(ms / 1000)} s`
  const timedOut = (): Fault => new Fault('timeout', reason)
  try {
    return await within(connect(http, to, options, stop), { clock, ms, signal, timedOut })
  } catch (thrown) {
    stop.abort()
    throw Fault.from(thrown)
  }
}

/** Opens the stream and reads the endpoint; `stop` ends the session and every POST in flight. */
const connect = async (
  http: HttpClient,
  to: RemoteAddress,
  { bounds, clock, log, signal }: SseChannelOptions,
  stop: AbortController,
): Promise<Channel> => {
  if (signal.aborted) stop.abort()
  const headers = { ...to.headers, accept: 'text/event-stream' }
  const stream = await fetchReply(http, { method: 'GET', url: to.url, headers }, stop.signal)
  if (stream.status !== 200 || mediaTypeOf(stream.headers['content-type']) !== 'text/event-stream') {
    const { status } = stream
    if (status >= 400) throw statusFault(status, statedIn(await readRefusal(stream, clock)))
    stream.discard()
    if (status >= 300) throw statusFault(status)
    throw new Fault('unavailable', 'The server answered with something other than an event stream')
  }
  const channel = new SseChannel({ http, to, clock, log, stop, bounds, stream })
  await channel.connect()
  return channel
}

interface SseLink extends CallerContext {
  readonly http: HttpClient
  readonly to: RemoteAddress
  /** Ends the event stream and every POST in flight. */
  readonly stop: AbortController
  readonly stream: RemoteReply
}

class SseChannel implements Channel, BodyParts, SseHandlers {
  readonly #link: SseLink
  readonly #reader: SseReader
  /** Settles with the event that names the endpoint. */
  readonly #endpointKnown = new Deferred<void>()
  #listener: ChannelListener | undefined
  #endpoint: string | undefined
  /** Messages received before the listener runs. */
  #buffered: Buffer[] = []
  #end: Fault | undefined
  /** True once the listener gets messages. */
  #isRunning = false
  #isPaused = false
  #isOver = false
  #posts = 0
  #queuedBytes = 0
  #isSlow = false
  /** During the handshake, the POST that the next message waits for. */
  #previousPost: Promise<void> = Promise.resolve()
  #isInitialized = false
  #hasWorked = false
  #retirement: Timer | undefined
  readonly #semaphore: Semaphore
  /** Resolves to whether the server refuses a ping. */
  #probe: Promise<boolean> | undefined

  constructor(link: SseLink) {
    this.#semaphore = createPostSemaphore(link.clock, link.stop.signal)
    const { bounds = new LimitCounters() } = link
    this.#reader = new SseReader({
      maxBytes: bounds.max.message,
      account: bounds.inbound,
      onOverrun: () => this.#listener?.overrun?.(),
    })
    this.#link = link
  }

  /** Reads until the server sends the endpoint. Rejects with a Fault. */
  async connect(): Promise<void> {
    this.#link.stream.read(this)
    await this.#endpointKnown.promise
    this.#endpoint = endpointUrl(this.#endpoint ?? '', this.#link.to.url)
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener
    const isOver = this.#isOver
    // The listener is still being constructed.
    queueMicrotask(() => {
      if (isOver) listener.closed(undefined)
      else this.#run()
    })
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  send(frame: OutgoingMessage): boolean {
    if (this.#isOver || this.#retirement !== undefined) return false
    const message = whole(frame)
    if (this.#posts >= POSTS_MAX) {
      this.#settle(new Fault('disconnected', 'The server leaves our messages unanswered'))
      return false
    }
    this.#queue(message, 1)
    const { signal } = this.#link.stop
    const turn = this.#previousPost
      .then(() => this.#semaphore.pass(signal, () => this.#post(message)))
      .catch(() => undefined)
    if (!this.#isInitialized) {
      // Some servers answer only after processing the message.
      this.#previousPost = within(turn, { clock: this.#link.clock, ms: TURN_MS })
      this.#isInitialized = isInitialized(message)
    }
    this.#isSlow = this.#queuedBytes > SLOW_BYTES
    return !this.#isSlow
  }

  pause(): void {
    this.#isPaused = true
    this.#link.stream.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#link.stream.resume()
  }

  close(): Promise<void> {
    this.#settle(undefined)
    return Promise.resolve()
  }

  // ── the event stream ──

  data(chunk: Buffer): void {
    this.#reader.push(chunk, this)
  }

  ended(fault: Fault | undefined): void {
    if (this.#endpoint === undefined) {
      this.#endpointKnown.reject(
        fault ?? new Fault('unavailable', 'The server ended the event stream at once'),
      )
    } else {
      const reason =
        fault === undefined ? 'The server ended the event stream' : 'The event stream of the server broke'
      this.#end = new Fault('disconnected', reason, fault && { cause: fault })
      if (this.#isRunning) this.#settle(this.#end)
    }
  }

  drop(): void {
    this.#reader.drop()
  }

  onEvent({ event, data }: SseEvent): void {
    if (event === 'endpoint' && this.#endpoint === undefined) {
      this.#endpoint = data.toString()
      this.#link.stream.pause()
      this.#endpointKnown.resolve()
    }
    // Nothing is expected before the endpoint. Empty data only sets the id.
    else if (event === 'message' && this.#endpoint !== undefined && data.length > 0) this.#deliver(data)
  }

  onSkipped(bytes: number): void {
    if (!this.#isOver) this.#listener?.skipped(bytes)
  }

  #run(): void {
    this.#isRunning = true
    for (const message of this.#buffered.splice(0)) this.#deliver(message)
    if (this.#end !== undefined) this.#settle(this.#end)
    else if (!this.#isPaused) this.#link.stream.resume()
  }

  #deliver(message: Buffer): void {
    if (this.#isOver) return
    this.#hasWorked = true
    if (this.#isRunning) this.#listener?.message(message)
    else this.#buffered.push(message)
  }

  // ── POSTs ──

  /** Sends one message; its answer comes on the event stream. Never rejects. */
  async #post(message: Buffer): Promise<void> {
    const { log, clock } = this.#link
    try {
      const reply = await this.#reply(message)
      const { status } = reply
      if (status < 400 || this.#isOver) reply.discard()
      if (this.#isOver || (status >= 200 && status < 300)) return
      const refusal = status < 400 ? undefined : await readRefusal(reply, clock)
      if (refusal !== undefined && (await this.#isLost(refusal))) {
        this.#lost(message, refusal)
        return
      }
      // No answer will follow, so the request would wait forever.
      log.warn({ status }, 'the server did not take a message; the session is given up')
      this.#settle(postFault(status, refusal && statedIn(refusal)))
    } catch (thrown) {
      this.#settle(new Fault('disconnected', 'A message could not be sent to the server', { cause: thrown }))
    } finally {
      this.#queue(message, -1)
    }
  }

  /**
   * Returns whether a refusal means that the session is lost. A text alone may be about the message, so that
   * the server has to refuse a ping, too.
   */
  async #isLost(refusal: HttpRefusal): Promise<boolean> {
    const loss = this.#lossIn(refusal)
    if (loss === 'none' || loss === 'certain' || this.#retirement !== undefined) return loss !== 'none'
    // The answer stays true: the channel ends either way.
    this.#probe ??= this.#isPingRefused()
    return this.#probe
  }

  #lossIn(refusal: HttpRefusal): SessionLoss {
    return sessionLossIn(refusal, { hasId: true, hasWorked: this.#hasWorked })
  }

  async #isPingRefused(): Promise<boolean> {
    const { clock } = this.#link
    const reply = await within(this.#reply(PROBE), { clock, ms: PROBE_MS })
    if (reply !== undefined && reply.status >= 400)
      return this.#lossIn(await readRefusal(reply, clock)) !== 'none'
    reply?.discard()
    return false
  }

  /** Posts a message, and one that only reads once more if a kept connection closes (RFC 9110 §9.2.2). */
  async #reply(message: Buffer): Promise<RemoteReply> {
    const { http, to, stop } = this.#link
    const request: OutboundRequest = {
      method: 'POST',
      url: this.#endpoint ?? to.url,
      headers: { ...to.headers, 'content-type': 'application/json' },
      body: message,
      hasWorked: this.#hasWorked,
    }
    try {
      return await fetchReply(http, request, stop.signal)
    } catch (thrown) {
      if (Fault.from(thrown).code !== 'disconnected' || !isRead(message)) throw thrown
      return await fetchReply(http, { ...request, onNewConnection: true }, stop.signal)
    }
  }

  /**
   * Handles a lost session: the server did not process the message. Messages on their way wait for replies of
   * their own, and for answers on the event stream, which is still open.
   */
  #lost(message: Buffer, refusal: HttpRefusal): void {
    const why = lossText(refusal)
    this.#link.log.warn({ status: refusal.status }, 'the server no longer knows the session')
    const data = { httpStatus: refusal.status }
    if (!this.#isInitialized || this.#listener?.refused === undefined) {
      this.#settle(new Fault('disconnected', why, { data }))
      return
    }
    const fault = new Fault('disconnected', why, { data: { ...data, reason: SESSION_LOST } })
    this.#retirement ??= this.#link.clock.after(RETIRE_MS, () => this.#settle(fault))
    this.#listener.refused(message, fault)
  }

  #queue(message: Buffer, by: 1 | -1): void {
    this.#posts += by
    this.#queuedBytes += by * Math.max(message.length, POST_BYTES)
    if (!this.#isSlow || this.#queuedBytes > SLOW_BYTES || this.#isOver) return
    this.#isSlow = false
    this.#listener?.drained()
  }

  #settle(fault: Fault | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#retirement?.cancel()
    this.#link.stop.abort()
    this.drop()
    this.#listener?.closed(fault)
  }
}

/** Resolves the URL for POSTs. Throws a Fault for another origin, which would get our credentials. */
const endpointUrl = (endpoint: string, base: string): string => {
  if (!URL.canParse(endpoint, base)) {
    throw new Fault('unavailable', 'The server named an endpoint for messages that is not a URL')
  }
  const url = new URL(endpoint, base)
  const { origin } = new URL(base)
  if (url.origin === origin) return url.href
  throw new Fault('unavailable', `The server wants messages to go to another origin, ${url.origin}; refused`)
}

/** Returns whether a message ends the handshake (basic/lifecycle, "Initialization"). */
const isInitialized = (message: Buffer): boolean => {
  const classified = classify(message)
  return (
    classified.is === 'message' &&
    classified.message.kind === 'notification' &&
    classified.message.method === 'notifications/initialized'
  )
}

const isRead = (message: Buffer): boolean => {
  const classified = classify(message)
  return (
    classified.is === 'message' && classified.message.kind === 'request' && isSafe(classified.message.method)
  )
}

const postFault = (status: number, stated: Partial<StatedReason> = {}): Fault => {
  if (status === 401 || status === 403) return statusFault(status, stated)
  const { reason, remote } = stated
  const said = reason === undefined ? '' : `: ${reason}`
  const message = `The server did not take a message (HTTP status ${status}${said})`
  return new Fault('disconnected', message, { data: { httpStatus: status }, remote })
}
