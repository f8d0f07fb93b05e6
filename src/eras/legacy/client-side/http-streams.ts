import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { Fault } from '../../../kernel/faults.js'
import { type JsonText, rawText } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import type { Arrival } from '../../../model/links.js'
import type { OwnChallenge } from '../../../rpc/host.js'
import { overloadResponse, refuseForScopes } from '../../../rpc/http/errors.js'
import type { ReplyStream } from '../../../rpc/outlet.js'
import { messageEvent, primingEvent, SSE_COMMENT } from '../../../wire/framing/sse-write.js'
import type { HttpResponder, HttpStream } from '../../../wire/http.js'
import { type OutgoingMessage, whole } from '../../../wire/message-parts.js'
import { cutOff } from '../../shared/cut-off.js'
import type { Replay } from './replay.js'

/** The delay before a client should resume a broken stream. */
const RETRY_MS = 1000
/** The time within which a client learns that its answer is a stream. */
const SOON_MS = 10
const SEVERAL = rawText('')

export type Headers = Readonly<Record<string, string>>

/** The session, as its streams see it. */
export interface StreamOwner {
  readonly replay: Replay
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  /** The number of answers that are likely to become streams. */
  expected: number
  /** True if streams begin with a priming event, whose empty data breaks SDK clients before 2025-11-25. */
  readonly isPrimed: boolean
  /** The headers that name the session, if it exists; alone, for a JSON answer, and for a stream. */
  readonly headers: Headers
  readonly jsonHeaders: Headers
  readonly eventHeaders: Headers
  challenge(scopes: readonly string[]): ReturnType<OwnChallenge>
  /** The answer to a POST became a numbered stream. */
  streamBegan(stream: EventStream): void
  /** The stream can still be resumed from its buffered events, but nothing follows them. */
  streamEnded(stream: EventStream): void
  /** True if the standalone stream is open. */
  readonly isListening: boolean
  /** Takes messages that belong to no request, or do not fit into its answer. */
  notify(frame: Buffer, method: string): void
  /** Gives up a question once its client is gone. Returns a function that ends this when it is answered. */
  unread(stream: EventStream, undeliverable: () => void): () => void
}

/** The notification dropped first when a client is behind. */
export const LOG_MESSAGE = 'notifications/message'

/** One SSE stream of a session: numbered, recorded for replay, and resumable on another connection. */
export class EventStream {
  readonly number: number
  readonly #owner: StreamOwner
  #out: HttpStream | undefined
  #isEnded = false
  /** The time since which no response is attached. */
  #detachedMs: number

  /** `requestId` is the id of the answered request; empty for several. */
  constructor(owner: StreamOwner, requestId?: JsonText) {
    this.#owner = owner
    this.#detachedMs = owner.clock.nowMs()
    this.number = owner.replay.open(requestId)
  }

  get goneMs(): number | undefined {
    return this.#out === undefined ? this.#detachedMs : undefined
  }

  get isAttached(): boolean {
    return this.#out !== undefined
  }

  /** Starts writing to a response; with `isNew` the client first gets an id to resume from. */
  attach(responder: HttpResponder, headers: Headers, isNew: boolean): void {
    this.#out?.end()
    const out = responder.stream(200, headers)
    this.#out = out
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

  /** Ends the response; the stream can be resumed. */
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

  /** Sets the client's reconnection delay. */
  retryIn(ms: number): void {
    this.#out?.write(`retry: ${Math.round(ms)}\n\n`)
  }

  #cutOff(out: HttpStream): void {
    cutOff(out, this.#owner)
    this.#detach()
  }

  #detach(): void {
    this.#out = undefined
    this.#detachedMs = this.#owner.clock.nowMs()
  }
}

/** The answer to one POST: JSON, unless another message precedes it or is likely to; then an SSE stream. */
export class PostStream implements ReplyStream {
  readonly #responder: HttpResponder
  readonly #owner: StreamOwner
  /** Its client accepts only JSON: other messages about the request use the standalone stream. */
  readonly #isJson: boolean
  /** Set for requests. */
  arrival: Arrival | undefined
  /** The id of the answered request, if it is a single one. */
  requestId: JsonText = SEVERAL
  #events: EventStream | undefined
  /** Set while it is likely to become a stream. */
  #expecting: Timer | undefined
  #goneMs: number | undefined
  #isOver = false

  constructor(responder: HttpResponder, owner: StreamOwner, takes: 'streams' | 'json') {
    this.#responder = responder
    this.#owner = owner
    this.#isJson = takes === 'json'
    responder.onGone(() => {
      this.#goneMs = owner.clock.nowMs()
      this.#expectNoMore()
    })
  }

  /**
   * Announces that messages before the answer are likely. With `mayWait`, the stream starts with the first
   * message, in one write, or after a moment; an answer that comes first needs no stream.
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

  /** Turns the answer into an SSE stream. */
  startStream(): EventStream {
    if (this.#events !== undefined) return this.#events
    this.#expectNoMore()
    const events = new EventStream(this.#owner, this.requestId)
    this.#events = events
    if (this.#goneMs === undefined) events.attach(this.#responder, this.#owner.eventHeaders, true)
    this.#owner.streamBegan(events)
    return events
  }

  get canAsk(): boolean {
    return !this.#isJson
  }

  get goneMs(): number | undefined {
    return this.#events === undefined ? this.#goneMs : this.#events.goneMs
  }

  send(frame: OutgoingMessage, mayDrop?: boolean): void {
    if (!this.#isJson) this.startStream().send(frame, mayDrop)
    // Progress and log lines of a call must not arrive after its answer.
    else if (mayDrop !== true || this.#owner.isListening)
      this.#owner.notify(whole(frame), mayDrop === true ? LOG_MESSAGE : '')
  }

  ask(frame: OutgoingMessage, undeliverable: () => void): () => void {
    const events = this.startStream()
    events.send(frame)
    return this.#owner.unread(events, undeliverable)
  }

  end(frame: OutgoingMessage | undefined, { why }: { readonly why?: Fault | undefined } = {}): void {
    this.#isOver = true
    if (this.#expecting !== undefined) this.#expectNoMore()
    if (this.#events !== undefined) {
      // A copy: the replay buffer must not retain the whole message of the result.
      if (frame !== undefined) this.#events.send(whole(frame))
      this.#events.end()
    } else if (this.#goneMs !== undefined) {
      return
    } else if (frame !== undefined) {
      const full = why && overloadResponse(why)
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

  keepAlive(): void {
    const isLost = this.#goneMs !== undefined
    if (!this.#isJson && !isLost && this.#events === undefined) this.startStream().keepAlive()
  }
}
