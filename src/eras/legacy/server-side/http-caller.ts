import { within } from '../../../kernel/async/deadline.js'
import { Fault } from '../../../kernel/faults.js'
import { type JsonText, memberOf } from '../../../kernel/json/text.js'
import { SESSION_LOST } from '../../../model/failure.js'
import type { CallSink, OnLate, ServerSession } from '../../../model/links.js'
import { failed } from '../../../model/outcome.js'
import type { ServerFacts } from '../../../model/peer.js'
import type { CallerContext } from '../../../rpc/channel/caller.js'
import { type Conversation, type ConversationListener, outcomeOf } from '../../../rpc/channel/conversation.js'
import type { OwnId } from '../../../rpc/channel/pending-requests.js'
import type { RequestExchange } from '../../../rpc/http/exchange.js'
import { type RemoteReply, readStream } from '../../../rpc/http/fetch-reply.js'
import { type HttpRefusal, readRefusal, reasonIn } from '../../../rpc/http/refusal.js'
import type { RemoteAddress, StreamHandlers } from '../../../rpc/http/reply.js'
import type { SseReader } from '../../../wire/framing/sse-read.js'
import { mediaTypeOf } from '../../../wire/http/headers.js'
import type { HttpClient, HttpHeaders } from '../../../wire/http.js'
import { encodeError, encodeNotification, encodeRequest, encodeResult } from '../../../wire/jsonrpc.js'
import { HttpConversation } from '../../shared/http-conversation.js'
import { advance, HttpRemote, newPosition, reopenMs, type StreamPosition, sleep } from './http-remote.js'
import {
  type AnswerToUs,
  answerIn,
  lossText,
  PROBE_MS,
  type SessionLoss,
  sessionLossIn,
} from './lost-session.js'
import { Posts } from './posts.js'
import type { SavedSession } from './saved-session.js'

/** More requests than one replica makes in a session, so that the next owner's ids differ. */
const IDS_PER_REPLICA = 2 ** 28
const RESUME_TRIES = 5
/** The first attempt is early: it distinguishes a network glitch from a crash. */
const RESUME = { firstMs: 250, maxMs: 15_000 }
const LISTEN = { firstMs: 1000, maxMs: 60_000 }
/** Above this, a refusal is about more than the session. */
const REFUSAL_BYTES = 64 * 1024
/** Above this, ended requests are forgotten. */
const AWAITED_MAX = 1024
/** The age up to which a session that has not served a client is new. */
const NEW_MS = 5000

/** The context of a session over Streamable HTTP. */
interface HttpContext extends CallerContext {
  readonly session?: ServerSession | undefined
  /** The message of the Fault that ended the previous connection. */
  readonly lastLoss?: string | undefined
}

/**
 * A session over Streamable HTTP (2025-03-26 to 2025-11-25, basic/transports): each request is a POST whose
 * response, JSON or SSE, is its stream; all other messages arrive on one standalone GET stream.
 */
export class LegacyHttpCaller extends HttpConversation implements Conversation {
  readonly #remote: HttpRemote
  readonly #all = new AbortController()
  readonly #posts: Posts
  readonly #session: ServerSession | undefined
  /** The reason for which the previous session was lost. */
  readonly #lastLoss: string | undefined
  readonly #sinceMs: number
  /** True if the server answered a client in this session. */
  #hasServed = false
  /** True while the server has a standalone stream, or may have one. */
  #isListening = false
  /** Requests that the server accepted, and whose answers may arrive on the standalone stream. */
  readonly #awaited = new Set<OwnId>()
  /** The last id that was used, here or by a previous replica. */
  #ids = 0
  /** The ping that shows whether the server knows the session, while it is on its way. */
  #probe: Promise<boolean> | undefined
  #probeId: OwnId | undefined
  receivesUnsolicited = false
  readonly hasManyConnections = true

  constructor(http: HttpClient, to: RemoteAddress, listener: ConversationListener, options: HttpContext) {
    super(listener, options)
    this.#session = options.session
    this.#lastLoss = options.lastLoss
    this.#sinceMs = options.clock.nowMs()
    this.#remote = new HttpRemote(http, to, options.clock)
    this.#posts = new Posts({
      post: frame => this.#post(frame),
      onUnresponsive: () =>
        this.#over(new Fault('disconnected', 'The server leaves our messages unanswered')),
      bounds: this.bounds,
      clock: options.clock,
      signal: this.#all.signal,
    })
  }

  nextId(): number {
    return ++this.#ids
  }

  /** Stores the data that another replica needs to resume the session. */
  saveSession(facts: ServerFacts): void {
    this.#session?.save(this.#remote.savedSession(facts, this.#ids + IDS_PER_REPLICA))
  }

  /** Resumes a session of another replica instead of the handshake. */
  resumeSession(saved: SavedSession): void {
    this.#ids = saved.ids
    this.#remote.resumeSession(saved)
  }

  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void {
    const exchange = this.exchangeFor(id, sink)
    if (exchange !== undefined) this.#remote.send(exchange, encodeRequest(id, method, params))
  }

  mayAnswerLater({ id }: RequestExchange): boolean {
    if (!this.#isListening || this.isOver) return false
    if (this.#awaited.size > AWAITED_MAX)
      for (const old of this.#awaited) if (!this.dispatcher.pending.open.has(old)) this.#awaited.delete(old)
    this.#awaited.add(id)
    return true
  }

  forget(id: OwnId, onLate?: OnLate): void {
    this.#awaited.delete(id)
    this.dispatcher.pending.forget(id, onLate)
    const exchange = this.exchanges.get(id)
    if (exchange !== undefined) this.lingers(exchange)
  }

  async notify(method: string, params: JsonText | undefined): Promise<void> {
    const frame = encodeNotification(method, params)
    const about = supersedes(method, params)
    await (about === undefined ? this.#posts.send(frame) : this.#posts.sendLatest(about, frame))
    // Not awaited: some servers send the headers of that stream only with its first event.
    if (method === 'notifications/initialized' && !this.isOver) void this.listen()
  }

  sendResult(id: JsonText, result: JsonText): void {
    void this.#posts.send(encodeResult(id, result))
  }

  sendError(id: JsonText, error: JsonText): void {
    void this.#posts.send(encodeError(id, error))
  }

  agreed(revision: string): void {
    this.#remote.agreed(revision)
  }

  async close(): Promise<void> {
    if (this.isOver) return
    this.#over(new Fault('disconnected', 'The session with the server was closed'))
    if (this.#session?.isTakenOver() === true) return
    try {
      await this.#remote.end()
    } catch (thrown) {
      this.log.debug({ err: thrown }, 'the server did not acknowledge the end of the session')
    }
  }

  // ── one request and its stream ──

  admits(exchange: RequestExchange, status: number, headers: HttpHeaders): boolean {
    const fault = this.#remote.learnSession(headers)
    if (fault !== undefined) {
      exchange.discard()
      exchange.fail(fault)
      return false
    }
    if (status < 400) this.#worked(exchange.sink.owner !== undefined)
    return true
  }

  faultIn(
    { id }: RequestExchange,
    refusal: HttpRefusal,
    body: Buffer | undefined,
  ): Fault | undefined | Promise<Fault | undefined> {
    const loss = this.#lossIn(refusal, body && answerIn(body, id))
    if (loss === 'none') return undefined
    const why = lossText(refusal)
    const lost = new Fault('session-lost', why)
    if (loss !== 'certain' && !this.isOver && id !== this.#probeId) {
      // Bounds the memory of the answers that wait for the ping.
      if (body !== undefined && body.length > REFUSAL_BYTES) return undefined
      return this.#isUnknown().then(isUnknown => (isUnknown ? lost : undefined))
    }
    this.#sessionLost(why, id)
    return lost
  }

  streamEnded(exchange: RequestExchange, reader: SseReader): void {
    const position = newPosition()
    advance(position, reader)
    void this.#follow(exchange, position)
  }

  /** Resumes a request's SSE stream until its answer arrives, over several connections if necessary. */
  async #follow(exchange: RequestExchange, position: StreamPosition): Promise<void> {
    const { signal } = exchange
    for (let tries = 0; position.lastEventId !== undefined && tries < RESUME_TRIES; ) {
      await sleep(this.clock, reopenMs(position, tries, RESUME), signal)
      tries += 1
      const opened = exchange.isOpen ? await this.#openStream(position, signal, true) : undefined
      if (opened instanceof Fault) exchange.fail(opened)
      else if (typeof opened === 'object' && (await this.#read(opened, position, exchange))) tries = 0
      if (!exchange.isOpen) {
        exchange.over()
        return
      }
      if (typeof opened === 'number' && isFinal(opened)) break
    }
    exchange.fail(new Fault('disconnected', 'The server ended the stream without an answer'))
  }

  // ── streams ──

  /** Keeps the standalone stream open during the session, if the server has one. */
  async listen(): Promise<void> {
    const position = newPosition()
    let hasOpened = false
    this.#isListening = true
    for (let tries = 0; !this.isOver; ) {
      const opened = await this.#openStream(position, this.#all.signal, hasOpened)
      let gotEvent = false
      if (typeof opened === 'object' && !(opened instanceof Fault)) {
        hasOpened = true
        this.receivesUnsolicited = true
        gotEvent = await this.#read(opened, position, this.#standalone)
        this.receivesUnsolicited = false
      } else if (typeof opened === 'number' && isFinal(opened)) {
        // There is no such stream: 405, or 404 without the route. Before giving up, tries without a position.
        if (position.lastEventId === undefined) {
          this.#isListening = false
          this.#endAwaited()
          return
        }
        position.lastEventId = undefined
      }
      // Without a position, answers on the previous stream are lost.
      if (typeof opened === 'object' && position.lastEventId === undefined) this.#endAwaited()
      tries = gotEvent ? 0 : tries + 1
      await sleep(this.clock, reopenMs(position, tries, LISTEN), this.#all.signal)
    }
  }

  /**
   * Opens the standalone stream or resumes one. Returns the HTTP status on failure, 0 without one, or a Fault
   * if the server is gone. `hadStream`: the server has sent one in this session, so a refusal may concern the
   * session; a ping shows whether it does.
   */
  async #openStream(
    { lastEventId }: StreamPosition,
    signal: AbortSignal,
    hadStream: boolean,
  ): Promise<RemoteReply | Fault | number> {
    try {
      const reply = await this.#remote.open(lastEventId, signal)
      this.received()
      const type = mediaTypeOf(reply.headers['content-type'])
      if (reply.status === 200 && type === 'text/event-stream') return reply
      if (reply.status < 400 || !hadStream) reply.discard()
      else if (isStated(this.#lossIn(await readRefusal(reply, this.clock)))) void this.#isUnknown()
      return reply.status
    } catch (thrown) {
      this.log.debug({ err: thrown }, 'could not open a stream')
      const fault = Fault.from(thrown)
      return fault.code === 'unavailable' ? new Fault('disconnected', `it is gone: ${fault.message}`) : 0
    }
  }

  /** Reads a stream to its end and updates its position; resolves to whether any event came. */
  async #read(
    reply: RemoteReply,
    position: StreamPosition,
    on: Omit<StreamHandlers, 'streamEnded'>,
  ): Promise<boolean> {
    const { reader, gotEvent } = await readStream(reply, on, this.bounds)
    advance(position, reader)
    return gotEvent
  }

  readonly #standalone = {
    message: (data: Buffer): void => this.dispatcher.take(data, undefined),
    read: (): void => this.received(),
    skipped: (bytes: number): void =>
      this.log.warn({ bytes }, 'skipped a message of the server that is longer than the limit'),
  }

  /** Posts a notification or response. Never rejects. */
  async #post(frame: Buffer): Promise<void> {
    if (this.isOver) return
    try {
      const reply = await this.#remote.post(frame, this.#all.signal)
      this.received()
      const { status } = reply
      if (status < 400) {
        reply.discard()
        this.#worked(false)
        return
      }
      const refusal = await readRefusal(reply, this.clock)
      const loss = this.#lossIn(refusal)
      if (loss === 'certain') this.#sessionLost(lossText(refusal))
      else this.log.warn({ status, why: reasonIn(refusal) }, 'the server did not take a message')
      if (isStated(loss)) void this.#isUnknown()
    } catch (thrown) {
      this.log.debug({ err: thrown }, 'could not send a message to the server')
    }
  }

  // ── closing ──

  #worked(isCall: boolean): void {
    this.#remote.worked()
    if (isCall) this.#hasServed = true
  }

  /**
   * Returns how far a refusal means that the session is lost. One that repeats the reason for this session,
   * before it served a client, is an answer: yet another session would not help.
   */
  #lossIn(refusal: HttpRefusal, answer?: AnswerToUs): SessionLoss {
    const isNew = !this.#hasServed && this.clock.nowMs() - this.#sinceMs < NEW_MS
    if (!this.isOver && isNew && lossText(refusal) === this.#lastLoss) return 'none'
    return sessionLossIn(refusal, this.#remote.session, answer)
  }

  /** Handles a lost session; the server did not process `id` (transports, "Session Management", 4). */
  #sessionLost(why: string, id?: OwnId): void {
    const untouched = id === undefined ? undefined : this.dispatcher.pending.drop(id)
    this.retire(new Fault('disconnected', why, { data: { reason: SESSION_LOST } }))
    untouched?.ended(failed(new Fault('session-lost', why)))
  }

  /**
   * Pings the server to find out whether it still knows the session; a ping that it refuses for the session
   * proves the loss. A text alone may be about the request, which then ran. Never rejects.
   */
  #isUnknown(): Promise<boolean> {
    this.#probe ??= this.#ping().finally(() => {
      this.#probe = undefined
    })
    return this.#probe
  }

  async #ping(): Promise<boolean> {
    if (this.isOver) return false
    const id = this.nextId()
    this.#probeId = id
    const ended = await within(outcomeOf(this, id, 'ping', undefined), { clock: this.clock, ms: PROBE_MS })
    if (ended === undefined) this.forget(id)
    return ended?.kind === 'fault' && ended.fault.code === 'session-lost'
  }

  /** Ends the requests whose answers were to arrive on the standalone stream. */
  #endAwaited(): void {
    for (const id of this.#awaited) {
      const why = new Fault('disconnected', 'The server ended the stream without an answer')
      this.dispatcher.pending.drop(id)?.ended(failed(why))
    }
    this.#awaited.clear()
  }

  retire(why: Fault): void {
    if (this.isOver) return
    this.#endAwaited()
    this.#leave()
    this.endAfterReplies(why)
  }

  #over(why: Fault): void {
    this.#leave()
    this.end(why)
  }

  #leave(): void {
    this.receivesUnsolicited = false
    if (this.#session?.isTakenOver() === false) this.#session.save(undefined)
    this.#all.abort()
  }
}

/** Servers also answer 400 without a reason to unknown notifications and positions of streams. */
const isStated = (loss: SessionLoss): boolean => loss === 'certain' || loss === 'named'

/** Returns the subject of a notification that replaces earlier ones; undefined if each counts. */
const supersedes = (method: string, params: JsonText | undefined): string | undefined => {
  if (method === 'notifications/roots/list_changed') return method
  const token = method === 'notifications/progress' ? params && memberOf(params, 'progressToken') : undefined
  return token && `${method} ${token.toString()}`
}

/** Not permanent; 409: the server has not noticed yet that the previous stream has ended. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425, 429])

const NOT_IMPLEMENTED = 501

/** Returns whether a status is permanent; 0 means no status. */
const isFinal = (status: number): boolean =>
  status === NOT_IMPLEMENTED || (status >= 200 && status < 500 && !PASSING.has(status))
