import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { Fault } from '../../../kernel/faults.js'
import { type JsonText, rawText } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Link, LinkedList } from '../../../kernel/linked-list.js'
import type { Logger } from '../../../kernel/logger.js'
import type { Arrival } from '../../../model/links.js'
import type { OwnChallenge, ReplyStream } from '../../../rpc/host.js'
import { overloadResponse, refuseForScopes } from '../../../rpc/http/errors.js'
import { messageEvent, primingEvent, SSE_COMMENT } from '../../../wire/framing/sse-write.js'
import type { HttpResponder, HttpStream } from '../../../wire/http.js'
import { type OutgoingMessage, whole } from '../../../wire/message-parts.js'
import type { Replay } from './replay.js'

/** How long a client should wait before it resumes a broken stream. */
const RETRY_MS = 1000
/** How long a client may wait to learn that its answer is a stream. */
const SOON_MS = 10
const SEVERAL = rawText('')

export type Headers = Readonly<Record<string, string>>

/** The session, as its streams see it. */
export interface StreamOwner {
  readonly replay: Replay
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  /** Streams that are open now, for keep-alive comments. */
  readonly live: LinkedList<LiveStream>
  /** How many answers are likely to become streams. */
  expected: number
  /**
   * Whether streams begin with a priming event, whose empty data breaks SDK clients older than 2025-11-25.
   */
  readonly isPrimed: boolean
  /** The headers that name the session, if it exists; those of a JSON answer, and of a stream. */
  readonly headers: Headers
  readonly jsonHeaders: Headers
  readonly eventHeaders: Headers
  challenge(scopes: readonly string[]): ReturnType<OwnChallenge>
  /** The answer to a POST became a numbered stream. */
  streamBegan(stream: EventStream): void
  /** From now on a stream can be resumed for what is kept of it, and nothing follows that. */
  streamEnded(stream: EventStream): void
  /** Whether the standalone stream is open. */
  readonly isListening: boolean
  /** Takes what belongs to no request, or may not be said in its answer. */
  notify(frame: Buffer, method: string): void
  /** Takes a question that was recorded on a stream without a connection. */
  unread(stream: EventStream, undeliverable: () => void): void
}

/** The notification that is dropped first when a client is behind. */
export const LOG_MESSAGE = 'notifications/message'

/** A stream, or an answer that may become one. */
export interface LiveStream {
  keepAlive(): void
}

/** One SSE stream of a session: numbered, recorded for replay, and possibly moved to another connection. */
export class EventStream implements LiveStream {
  readonly number: number
  readonly #owner: StreamOwner
  #out: HttpStream | undefined
  #live: Link<LiveStream> | undefined
  #isEnded = false

  /** `requestId`: of the request that it answers; empty for several. */
  constructor(owner: StreamOwner, requestId?: JsonText) {
    this.#owner = owner
    this.number = owner.replay.open(requestId)
  }

  get isAttached(): boolean {
    return this.#out !== undefined
  }

  /** Starts writing to a response; with `isNew` the client first learns an id to resume from. */
  attach(responder: HttpResponder, headers: Headers, isNew: boolean): void {
    this.#out?.end()
    const out = responder.stream(200, headers)
    this.#out = out
    this.#live ??= this.#owner.live.add(this)
    responder.onGone(() => {
      if (this.#out === out) this.#detach()
    })
    if (isNew && this.#owner.isPrimed) {
      out.write(primingEvent(this.#owner.replay.place(this.number), RETRY_MS))
    }
  }

  /** Writes a recorded event. */
  replay(id: string, frame: OutgoingMessage): void {
    this.#out?.write(messageEvent(frame, id))
  }

  send(frame: OutgoingMessage, mayDrop = false): void {
    if (this.#isEnded) return
    const out = this.#out
    const { bounds } = this.#owner
    if (mayDrop && out !== undefined && bounds.isOver('softQueue', out.queuedBytes)) return
    const id = this.#owner.replay.record(this.number, frame)
    if (out === undefined) return
    if (out.queuedBytes > bounds.max.streamQueue) this.#cutOff(out)
    else out.write(messageEvent(frame, id))
  }

  /** Ends the stream; later messages are dropped. */
  end(): void {
    this.#isEnded = true
    this.#owner.replay.end(this.number)
    this.#owner.streamEnded(this)
    this.release()
  }

  /** Ends the response, and leaves the stream to be resumed. */
  release(): void {
    this.#out?.end()
    this.#detach()
  }

  get queuedBytes(): number {
    return this.#out?.queuedBytes ?? 0
  }

  keepAlive(): void {
    this.#out?.write(SSE_COMMENT)
  }

  /** Tells the client when to take it up again. */
  retryIn(ms: number): void {
    this.#out?.write(`retry: ${Math.round(ms)}\n\n`)
  }

  #cutOff(out: HttpStream): void {
    const { queuedBytes } = out
    this.#owner.bounds.hit('streamQueue')
    this.#owner.log.warn({ queuedBytes }, 'cut off a client that does not read its event stream')
    out.destroy()
    this.#detach()
  }

  #detach(): void {
    this.#out = undefined
    if (this.#live !== undefined) this.#owner.live.remove(this.#live)
    this.#live = undefined
  }
}

/** The answer to one POST: JSON, unless another message precedes it or is likely to; then an SSE stream. */
export class PostStream implements ReplyStream, LiveStream {
  readonly #responder: HttpResponder
  readonly #owner: StreamOwner
  /** Its client accepts only JSON: the messages about the request go elsewhere. */
  readonly #isJson: boolean
  readonly #live: Link<LiveStream>
  /** Set for those that are asked for. */
  arrival: Arrival | undefined
  /** Of the request that it answers, if that is one. */
  requestId: JsonText = SEVERAL
  #events: EventStream | undefined
  /** Set while it is likely to become a stream. */
  #expecting: Timer | undefined
  #isGone = false
  #isOver = false

  constructor(responder: HttpResponder, owner: StreamOwner, takes: 'streams' | 'json') {
    this.#responder = responder
    this.#owner = owner
    this.#isJson = takes === 'json'
    this.#live = owner.live.add(this)
    responder.onGone(() => {
      this.#isGone = true
      this.#expectNoMore()
      owner.live.remove(this.#live)
    })
  }

  /**
   * There is likely to be more to say than the answer. If it `mayWait`, the stream begins with the first
   * thing that is said, in one write, or else in a moment; an answer that comes first is no stream.
   */
  expectStream(mayWait: boolean): void {
    if (this.#isOver || this.#events !== undefined) return
    if (!mayWait) {
      this.startStream()
      return
    }
    this.#owner.expected += 1
    this.#expecting = this.#owner.clock.after(SOON_MS, () => this.startStream())
  }

  #expectNoMore(): void {
    if (this.#expecting === undefined) return
    this.#expecting.cancel()
    this.#expecting = undefined
    this.#owner.expected -= 1
  }

  /** Turns the answer into an SSE stream, if it is not one yet. */
  startStream(): EventStream {
    if (this.#events !== undefined) return this.#events
    this.#expectNoMore()
    this.#owner.live.remove(this.#live)
    const events = new EventStream(this.#owner, this.requestId)
    this.#events = events
    if (!this.#isGone) events.attach(this.#responder, this.#owner.eventHeaders, true)
    this.#owner.streamBegan(events)
    return events
  }

  get canAsk(): boolean {
    return !this.#isJson
  }

  send(frame: OutgoingMessage, mayDrop?: boolean): void {
    if (!this.#isJson) this.startStream().send(frame, mayDrop)
    // Progress and log lines of a call must not arrive after its answer.
    else if (mayDrop !== true || this.#owner.isListening)
      this.#owner.notify(whole(frame), mayDrop === true ? LOG_MESSAGE : '')
  }

  ask(frame: OutgoingMessage, undeliverable: () => void): void {
    const events = this.startStream()
    events.send(frame)
    if (!events.isAttached) this.#owner.unread(events, undeliverable)
  }

  end(frame: OutgoingMessage | undefined, { why }: { readonly why?: Fault | undefined } = {}): void {
    this.#isOver = true
    this.#expectNoMore()
    this.#owner.live.remove(this.#live)
    if (this.#events !== undefined) {
      // A copy: what is kept for replay must not keep all that its result came with.
      if (frame !== undefined) this.#events.send(whole(frame))
      this.#events.end()
    } else if (this.#isGone) {
      return
    } else if (frame !== undefined) {
      const full = overloadResponse(why)
      if (why !== undefined && this.#refusedForScopes(why)) return
      const headers = this.#owner.jsonHeaders
      if (full === undefined) this.#responder.send(200, headers, frame)
      else this.#responder.send(full.status, { ...headers, ...full.headers }, frame)
    } else if (this.#isJson) {
      this.#responder.send(202, this.#owner.headers)
    } else {
      // A cancelled request gets an event stream without events (utilities/cancellation).
      this.#responder.stream(200, this.#owner.eventHeaders).end()
    }
  }

  #refusedForScopes(why: Fault): boolean {
    const challenge: OwnChallenge = scopes => this.#owner.challenge(scopes)
    return refuseForScopes(this.#responder, why, challenge, this.#owner.headers)
  }

  /** A slow answer becomes a stream, so that no intermediary times out. */
  keepAlive(): void {
    if (!this.#isJson) this.startStream().keepAlive()
  }
}
