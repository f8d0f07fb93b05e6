import type { Clock } from '../../../kernel/async/clock.js'
import type { Fault } from '../../../kernel/faults.js'
import { type JsonText, rawText } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Link, LinkedList } from '../../../kernel/linked-list.js'
import type { Logger } from '../../../kernel/logger.js'
import type { Arrival } from '../../../model/links.js'
import type { OwnChallenge, ReplyStream } from '../../../rpc/host.js'
import { refuseForScopes, statusOfFull } from '../../../rpc/http/errors.js'
import { messageEvent, primingEvent, SSE_COMMENT } from '../../../wire/framing/sse-write.js'
import type { HttpResponder, HttpStream } from '../../../wire/http.js'
import { type OutgoingMessage, whole } from '../../../wire/message-parts.js'
import type { Replay } from './replay.js'

/** How long a client should wait before it resumes a broken stream. */
const RETRY_MS = 1000
/** How long a client may wait to learn that its answer is a stream. */
const SOON_MS = 10
const SEVERAL = rawText('')

/** What the streams of one session share. */
export interface StreamContext {
  readonly replay: Replay
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  readonly challenge: OwnChallenge | undefined
  /**
   * Whether streams begin with a priming event, whose empty data breaks SDK clients older than 2025-11-25.
   */
  isPrimed(): boolean
  /** Streams that are open now, for keep-alive comments. */
  readonly live: LinkedList<LiveStream>
}

/** A stream, or an answer that may become one. */
export interface LiveStream {
  keepAlive(): void
}

/** One SSE stream of a session: numbered, recorded for replay, and possibly moved to another connection. */
export class EventStream implements LiveStream {
  readonly number: number
  readonly #context: StreamContext
  #out: HttpStream | undefined
  #live: Link<LiveStream> | undefined
  /** Attaches it, while that is put off. */
  #attachNow: (() => void) | undefined
  #isEnded = false

  /** `requestId`: of the request that it answers; empty for several. */
  constructor(context: StreamContext, requestId?: JsonText) {
    this.#context = context
    this.number = context.replay.open(requestId)
  }

  get isAttached(): boolean {
    return this.#out !== undefined || this.#attachNow !== undefined
  }

  /** Starts writing to a response; with `isNew` the client first learns an id to resume from. */
  attach(responder: HttpResponder, headers: Readonly<Record<string, string>>, isNew: boolean): void {
    this.#out?.end()
    const out = responder.stream(200, headers)
    this.#out = out
    this.#live ??= this.#context.live.add(this)
    responder.onGone(() => {
      if (this.#out === out) this.#detach()
    })
    if (isNew && this.#context.isPrimed()) {
      out.write(primingEvent(this.#context.replay.place(this.number), RETRY_MS))
    }
  }

  /**
   * The same to a response with which it begins, once there is something to say, or in a moment: where that
   * comes soon all is one write, and the client wakes up once.
   */
  attachSoon(responder: HttpResponder, headers: Readonly<Record<string, string>>): void {
    const timer = this.#context.clock.after(SOON_MS, () => this.#attachNow?.())
    this.#attachNow = () => {
      timer.cancel()
      this.#attachNow = undefined
      this.attach(responder, headers, true)
    }
  }

  /** Writes a recorded event. */
  replay(id: string, frame: Buffer): void {
    this.#out?.write(messageEvent(frame, id))
  }

  send(frame: Buffer, mayDrop = false): void {
    if (this.#isEnded) return
    this.#attachNow?.()
    const out = this.#out
    const { bounds } = this.#context
    if (mayDrop && out !== undefined && bounds.isOver('softQueue', out.queuedBytes)) return
    const id = this.#context.replay.record(this.number, frame)
    if (out === undefined) return
    if (out.queuedBytes > bounds.max.streamQueue) this.#cutOff(out)
    else out.write(messageEvent(frame, id))
  }

  /** Ends the stream; later messages are dropped. */
  end(): void {
    this.#isEnded = true
    this.#context.replay.end(this.number)
    this.release()
  }

  /** Ends the response, and leaves the stream to be resumed. */
  release(): void {
    this.#attachNow?.()
    this.#out?.end()
    this.#detach()
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  get queuedBytes(): number {
    return this.#out?.queuedBytes ?? 0
  }

  keepAlive(): void {
    this.#out?.write(SSE_COMMENT)
  }

  /** Tells the client when to take it up again. */
  retryIn(ms: number): void {
    this.#attachNow?.()
    this.#out?.write(`retry: ${Math.round(ms)}\n\n`)
  }

  #cutOff(out: HttpStream): void {
    const { queuedBytes } = out
    this.#context.bounds.hit('streamQueue')
    this.#context.log.warn({ queuedBytes }, 'cut off a client that does not read its event stream')
    out.destroy()
    this.#detach()
  }

  #detach(): void {
    this.#out = undefined
    if (this.#live !== undefined) this.#context.live.remove(this.#live)
    this.#live = undefined
  }
}

/** What the answer to a POST reports to its session. */
export interface PostStreamEvents {
  /** The headers of the answer, read when it begins. */
  headers(): Readonly<Record<string, string>>
  /** The same for a JSON answer, and for a stream. */
  jsonHeaders(): Readonly<Record<string, string>>
  eventHeaders(): Readonly<Record<string, string>>
  /** The answer became a numbered stream. */
  streaming(stream: EventStream): void
  /** Takes the messages about the request if its client accepts only JSON. */
  readonly elsewhere: ((frame: Buffer, mayDrop?: boolean) => void) | undefined
}

/** The answer to one POST: JSON, unless another message precedes it or is likely to; then an SSE stream. */
export class PostStream implements ReplyStream, LiveStream {
  readonly #responder: HttpResponder
  readonly #context: StreamContext
  readonly #on: PostStreamEvents
  readonly #live: Link<LiveStream>
  /** Set for those that are asked for. */
  arrival: Arrival | undefined
  /** Of the request that it answers, if that is one. */
  requestId: JsonText = SEVERAL
  #events: EventStream | undefined
  #isGone = false
  #isOver = false

  constructor(responder: HttpResponder, context: StreamContext, on: PostStreamEvents) {
    this.#responder = responder
    this.#context = context
    this.#on = on
    this.#live = context.live.add(this)
    responder.onGone(() => {
      this.#isGone = true
      context.live.remove(this.#live)
    })
  }

  /** The same, unless the request is answered; `mayWait` for the first thing to say. */
  startStreamIfOpen(mayWait: boolean): void {
    if (!this.#isOver) this.startStream(mayWait)
  }

  /** Turns the answer into an SSE stream, if it is not one yet; `mayWait`: with nothing to say so far. */
  startStream(mayWait = false): EventStream {
    if (this.#events !== undefined) return this.#events
    this.#context.live.remove(this.#live)
    const events = new EventStream(this.#context, this.requestId)
    this.#events = events
    if (!this.#isGone) {
      if (mayWait) events.attachSoon(this.#responder, this.#on.eventHeaders())
      else events.attach(this.#responder, this.#on.eventHeaders(), true)
    }
    this.#on.streaming(events)
    return events
  }

  get canAsk(): boolean {
    return this.#on.elsewhere === undefined
  }

  send(frame: Buffer, mayDrop?: boolean): void {
    if (this.#on.elsewhere !== undefined) this.#on.elsewhere(frame, mayDrop)
    else this.startStream().send(frame, mayDrop)
  }

  end(frame: OutgoingMessage | undefined, { why }: { readonly why?: Fault | undefined } = {}): void {
    this.#isOver = true
    this.#context.live.remove(this.#live)
    if (this.#events !== undefined) {
      if (frame !== undefined) this.#events.send(whole(frame))
      this.#events.end()
    } else if (this.#isGone) {
      return
    } else if (frame !== undefined) {
      const full = statusOfFull(why)
      const headers = this.#on.jsonHeaders()
      if (refuseForScopes(this.#responder, why, this.#context.challenge, this.#on.headers())) return
      if (full === undefined) this.#responder.send(200, headers, frame)
      else this.#responder.send(full.status, { ...headers, ...full.headers }, frame)
    } else if (this.#on.elsewhere !== undefined) {
      this.#responder.send(202, this.#on.headers())
    } else {
      // A cancelled request gets an event stream without events (utilities/cancellation).
      this.#responder.stream(200, this.#on.eventHeaders()).end()
    }
  }

  /** A slow answer becomes a stream, so that no intermediary times out. */
  keepAlive(): void {
    if (this.#on.elsewhere === undefined) this.startStream().keepAlive()
  }
}
