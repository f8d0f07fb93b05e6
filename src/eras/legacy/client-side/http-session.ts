import type { Clock } from '../../../kernel/async/clock.js'
import type { Holding } from '../../../kernel/byte-account.js'
import { type Caller, hasEnded } from '../../../kernel/caller.js'
import type { Fault, FaultData } from '../../../kernel/faults.js'
import { HashTable } from '../../../kernel/hash-table.js'
import { randomId } from '../../../kernel/ids.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import { nothing } from '../../../kernel/nothing.js'
import { type Adopt, type AdoptedSession, FINAL_EVENT_ID } from '../../../rpc/adopted-session.js'
import type { ListenerOptions, OwnChallenge } from '../../../rpc/host.js'
import type { Outlet } from '../../../rpc/outlet.js'
import { messageEvent, SSE_HEADERS } from '../../../wire/framing/sse-write.js'
import type { HttpResponder } from '../../../wire/http.js'
import { EventStream, type Headers, LOG_MESSAGE, PostStream, type StreamOwner } from './http-streams.js'
import { lostEvent, Replay, type ReplayEvent, type ReplayTotal, replayLimits } from './replay.js'
import { LegacyUplink } from './uplink.js'

/** Bounds the notifications waiting for a standalone stream; the oldest is dropped first. */
const QUEUE_MAX = 100
/** The time a server request waits for a standalone stream, or for its stream to be resumed. */
const QUESTION_WAIT_MS = 10_000
/** The delay before a client resumes a stream whose session has moved. */
const RETRY_LEAST_MS = 500
const RETRY_MORE_MS = 2500
/** The first revision with priming events (basic/transports, "Sending Messages to the Server"). */
const PRIMED_SINCE = '2025-11-25'

interface Waiting {
  readonly frame: Buffer
  readonly sinceMs: number
  /** The method of a notification; undefined for a server request. */
  readonly method: string | undefined
  /** Called if a server request found no stream. */
  undeliverable(): void
}

/** An unanswered question on a stream, whose connection the client may have closed. */
interface Unread {
  readonly stream: EventStream
  /** The last time at which the client was seen to be connected. */
  sinceMs: number
  undeliverable(): void
}

/** A client without streams and requests counts as away after this time. */
export const CLIENT_AWAY_MS = 5 * 60_000

/** The same for a client without requests since it initialized. */
const UNUSED_MS = 10_000

/** A call continues for this time after its client lost the connection, so that the client can resume. */
const UNREAD_CALL_MS = 10 * 60_000

const NO_HEADERS = {}
const JSON_HEADERS = { 'content-type': 'application/json' }
const NONE: readonly never[] = []

/** One Streamable HTTP session: its id, client and streams (basic/transports, "Session Management"). */
export class HttpSession implements Outlet, StreamOwner {
  /** Undefined if the session ends with this process. */
  readonly adopted: AdoptedSession | undefined
  readonly uplink: LegacyUplink
  readonly replay: Replay
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  expected = 0
  lastUsedMs: number
  /** Kept, because most answers have them. */
  jsonHeaders: Headers = JSON_HEADERS
  readonly #options: ListenerOptions
  /**
   * Streams that have not ended; created with the first, because empty tables of 100,000 sessions take 18 MB.
   */
  #streams: HashTable<number, EventStream> | undefined
  #standalone: EventStream | undefined
  /** The caller that opened it last. */
  #listening: Caller
  #isIdleReported = false
  #postCount = 0
  #id: string | undefined
  /** Messages waiting for a standalone stream, in order. */
  #waiting: readonly Waiting[] = NONE
  #unread: readonly Unread[] = NONE
  readonly #holding: Holding

  constructor(
    caller: Caller,
    kept: ReplayTotal,
    options: ListenerOptions,
    adopt: Adopt | undefined = (options.directory ?? options.seals)?.adopt,
  ) {
    const { clock, bounds = new LimitCounters() } = options
    this.#options = options
    this.adopted = adopt?.(this)
    this.clock = clock
    this.log = options.log
    this.bounds = bounds
    this.lastUsedMs = clock.nowMs()
    this.#listening = caller
    this.uplink = new LegacyUplink(caller, this, options, this.adopted)
    this.#holding = bounds.unread.open(() => {
      for (const waiting of this.#wait(NONE)) waiting.undeliverable()
    })
    if (this.adopted?.isRestored === true) this.#postCount = 1
    this.replay = new Replay(clock, replayLimits(bounds), kept, this.adopted?.epoch)
  }

  /** Created after the client's `initialize`, because it may contain some of its data. */
  get id(): string {
    this.#id ??= this.adopted?.id ?? randomId()
    return this.#id
  }

  /** Adds the session's id to the headers of answers, once its client has initialized. */
  opened(): void {
    this.jsonHeaders = { ...this.headers, ...JSON_HEADERS }
  }

  // A rejected client must not get the id of a session that does not exist.

  get headers(): Headers {
    return this.uplink.isKnown ? { 'mcp-session-id': this.id } : NO_HEADERS
  }

  get eventHeaders(): Headers {
    return { ...this.headers, ...SSE_HEADERS }
  }

  /** Writes a keep-alive comment to each stream, and turns slow answers into streams. */
  keepAlive(): void {
    for (const stream of this.#all) stream.keepAlive()
    this.uplink.keepAlive()
  }

  get isPrimed(): boolean {
    return this.uplink.revision >= PRIMED_SINCE
  }

  challenge(scopes: readonly string[]): ReturnType<OwnChallenge> {
    return this.#options.challenge?.(scopes, this.#listening)
  }

  streamBegan(stream: EventStream): void {
    this.#streams ??= new HashTable()
    this.#streams.set(stream.number, stream)
  }

  streamEnded({ number }: EventStream): void {
    this.#streams?.take(number)
  }

  get queuedBytes(): number {
    let bytes = this.#waiting.reduce((sum, { frame }) => sum + frame.length, 0)
    for (const { queuedBytes } of this.#all) bytes += queuedBytes
    return bytes
  }

  /** True if no client is connected and nothing is in flight. */
  get isIdle(): boolean {
    return this.uplink.openCalls === 0 && this.#standalone?.isAttached !== true
  }

  /** Returns whether its client seems gone for good: away for long, or silent since it initialized. */
  isAbandoned(nowMs: number): boolean {
    return this.isIdle && this.lastUsedMs <= nowMs - (this.#postCount > 1 ? CLIENT_AWAY_MS : UNUSED_MS)
  }

  /** Returns a Fault if too many streams are open for another request. */
  fullFault(): Fault | undefined {
    const { streamsPerSession } = this.bounds.max
    // Checked for every request: resumable streams are counted separately only near the limit.
    if ((this.#streams?.size ?? 0) + this.expected < streamsPerSession) return undefined
    const open = this.#all.filter(stream => stream.isAttached).length + this.expected
    if (open < streamsPerSession) return undefined
    return this.bounds.overloaded('streamsPerSession', `You have ${open} event streams open`)
  }

  /** Records a request; returns false if the session belongs to another principal or view. */
  takesFrom(caller: Caller): boolean {
    const { uplink } = this
    if (uplink.principal !== caller.principal || uplink.view !== caller.view) return false
    if (caller !== uplink.caller) uplink.setCaller(caller)
    this.lastUsedMs = this.clock.nowMs()
    this.#isIdleReported = false
    return true
  }

  /** Reports once that the client seems to be away. */
  reportIdle(): void {
    if (this.#isIdleReported) return
    this.#isIdleReported = true
    this.uplink.reportIdle()
  }

  /**
   * Starts the answer to a POST. For a client that accepts only JSON, other messages go to the standalone
   * stream.
   */
  post(responder: HttpResponder, takes: 'streams' | 'json'): PostStream {
    this.#postCount += 1
    return new PostStream(responder, this, takes)
  }

  /** Opens the standalone stream, replacing an older one. */
  listen(responder: HttpResponder): void {
    this.#listening = this.uplink.caller
    const stream = this.#standalone ?? new EventStream(this)
    this.#standalone = stream
    this.streamBegan(stream)
    stream.attach(responder, this.eventHeaders, true)
    this.#flush(stream)
  }

  /** Resumes a broken stream after the last event the client saw; false if that would leave a gap. */
  resume(lastEventId: string, responder: HttpResponder): boolean {
    const place = this.replay.after(lastEventId)
    if (place === undefined) return this.#resumeLost(lastEventId, responder)
    const stream = this.#streams?.get(place.stream)
    if (stream === undefined) {
      this.#sendRest(place.events, responder)
      return true
    }
    if (stream === this.#standalone) this.#listening = this.uplink.caller
    stream.attach(responder, this.eventHeaders, false)
    for (const { id, frame } of place.events) stream.replay(id, frame)
    if (stream === this.#standalone) this.#flush(stream)
    return true
  }

  /** Sends the remaining events of a stream that has ended. */
  #sendRest(events: readonly ReplayEvent[], responder: HttpResponder): void {
    if (events.length === 0) {
      // 204 stops EventSource clients from reconnecting (HTML, "Server-sent events"); SDK clients would take
      // an empty stream for a standalone one.
      responder.send(204, this.headers)
      return
    }
    const out = responder.stream(200, this.eventHeaders)
    for (const { id, frame } of events) out.write(messageEvent(frame, id))
    out.end()
  }

  /**
   * Resumes a stream of an earlier owner: a pending answer is lost, and its request gets an error. A restored
   * session answers all other ids as those of ended streams.
   */
  #resumeLost(lastEventId: string, responder: HttpResponder): boolean {
    const { adopted } = this
    if (adopted === undefined) return false
    const lost = lastEventId === FINAL_EVENT_ID ? undefined : lostEvent(lastEventId, adopted.epoch)
    if (lost?.is === 'standalone') this.listen(responder)
    else if (lost?.is === 'answer') {
      const out = responder.stream(200, this.eventHeaders)
      out.write(messageEvent(adopted.lostAnswer(lost.id), FINAL_EVENT_ID))
      out.end()
    } else if (lastEventId === FINAL_EVENT_ID || adopted.isRestored) responder.send(204, this.headers)
    else return false
    return true
  }

  /** Makes its client reconnect, with a random delay. */
  reconnectClient(): void {
    for (const stream of this.#all) stream.retryIn(RETRY_LEAST_MS + Math.random() * RETRY_MORE_MS)
  }

  /** Ends the open streams, which can be resumed here or elsewhere. */
  release(): void {
    this.reconnectClient()
    for (const stream of this.#all) stream.release()
  }

  close(reason: string, data?: FaultData): void {
    this.jsonHeaders = JSON_HEADERS
    this.uplink.close(reason, data)
    for (const stream of this.#all) stream.end()
    this.replay.clear()
    this.#streams = undefined
    this.#wait(NONE)
  }

  /** Ends the standalone stream if its opener may no longer use it; it can be reopened. */
  releaseUnless(mayListen: (caller: Caller) => boolean): void {
    if (!mayListen(this.#listening)) this.#standalone?.release()
  }

  /**
   * Drops expired events, undelivered server requests, calls without a client, and the stream of an expired
   * credential.
   */
  expire(): void {
    this.uplink.cancelUnread(this.clock.nowMs() - UNREAD_CALL_MS)
    this.releaseUnless(caller => !hasEnded(caller))
    this.replay.expire()
    const sinceMs = this.clock.nowMs() - QUESTION_WAIT_MS
    this.#expireUnread(sinceMs)
    const late = this.#waiting.filter(isRequest).filter(question => question.sinceMs <= sinceMs)
    if (late.length === 0) return
    this.#wait(this.#waiting.filter(waiting => !late.includes(waiting)))
    for (const question of late) question.undeliverable()
  }

  #expireUnread(sinceMs: number): void {
    const nowMs = this.clock.nowMs()
    for (const question of this.#unread) {
      if (question.stream.isAttached || this.isListening) question.sinceMs = nowMs
      else if (question.sinceMs <= sinceMs) question.undeliverable()
    }
  }

  // ── messages outside of requests ──

  get isListening(): boolean {
    return this.#standalone?.isAttached === true
  }

  unread(stream: EventStream, undeliverable: () => void): () => void {
    const question = { stream, sinceMs: this.clock.nowMs(), undeliverable }
    this.#unread = [...this.#unread, question]
    return () => {
      this.#unread = this.#unread.filter(each => each !== question)
    }
  }

  notify(frame: Buffer, method: string): void {
    if (this.#standalone?.isAttached === true) {
      this.#standalone.send(frame, method === LOG_MESSAGE)
      return
    }
    const isMerged = method.endsWith('/list_changed')
    const others = isMerged ? this.#waiting.filter(waiting => waiting.method !== method) : this.#waiting
    const notices = others.filter(waiting => !isRequest(waiting))
    const oldest = notices.length >= QUEUE_MAX ? notices[0] : undefined
    const notice = { frame, method, sinceMs: this.clock.nowMs(), undeliverable: nothing }
    this.#wait([...others.filter(waiting => waiting !== oldest), notice])
  }

  request(frame: Buffer, undeliverable: () => void): void {
    if (this.#standalone?.isAttached === true) this.#standalone.send(frame)
    else {
      const question = { frame, method: undefined, sinceMs: this.clock.nowMs(), undeliverable }
      this.#wait([...this.#waiting, question])
    }
  }

  takeBack(undeliverable: () => void): boolean {
    const left = this.#waiting.filter(waiting => waiting.undeliverable !== undeliverable)
    if (left.length === this.#waiting.length) return false
    this.#wait(left)
    return true
  }

  nextRequestId(): string {
    return randomId()
  }

  #flush(stream: EventStream): void {
    for (const { frame } of this.#wait(NONE)) stream.send(frame)
  }

  /** Replaces the waiting messages, and returns the previous ones. */
  #wait(waiting: readonly Waiting[]): readonly Waiting[] {
    const before = this.#waiting
    this.#waiting = waiting
    this.#holding.set(waiting.reduce((bytes, { frame }) => bytes + frame.length, 0))
    return before
  }

  get #all(): readonly EventStream[] {
    return this.#streams?.values() ?? NONE
  }
}

const isRequest = ({ method }: Waiting): boolean => method === undefined
