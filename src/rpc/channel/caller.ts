import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink, OnLate } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import { type Channel, type ChannelListener, guarded } from '../../wire/channel.js'
import { classify } from '../../wire/classify.js'
import { encodeError, encodeNotification, encodeResult, frameRequest } from '../../wire/jsonrpc.js'
import { lengthOf } from '../../wire/message-parts.js'
import type { Conversation, ConversationListener } from './conversation.js'
import { Dispatcher } from './dispatcher.js'
import type { OwnId } from './pending-requests.js'

/** A server that accepts no bytes for this long does not read. */
const BEHIND_MS = 2000
/** The multiple of `serverQueue` that may wait for a server that reads. */
const BURST = 8

/** This many messages above the limit within this time close the connection, so that the server restarts. */
const OVERLONG = { max: 3, withinMs: 60_000 }

/** Some overlong messages end soon; one that does not is considered endless. */
const OVERRUN_MS = 1000

export interface CallerContext {
  readonly log: Logger
  readonly clock: Clock
  /** The server's limits; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/** A conversation over a single channel, such as a child's pipes: ids and tokens separate the streams. */
export class PipeCaller implements Conversation, ChannelListener {
  readonly #channel: Channel
  readonly #dispatcher: Dispatcher
  readonly #log: Logger
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly receivesUnsolicited = true
  readonly hasManyConnections = false
  receivedCount = 0
  #lastId = 0
  #isClosed = false
  #isRetired = false
  /** The bytes sent in requests, the bytes accepted at the last check, and the time of the last progress. */
  #sentBytes = 0
  #takenBytes = 0
  #tookMs = Number.NEGATIVE_INFINITY
  /** The times of recent overlong messages. */
  #overlongMs: readonly number[] = []
  /** Runs until such a message ends. */
  #overrun: Timer | undefined

  constructor(channel: Channel, listener: ConversationListener, context: CallerContext) {
    this.#channel = channel
    this.#bounds = context.bounds ?? new LimitCounters()
    this.#dispatcher = new Dispatcher(listener, context.log, this.#bounds)
    this.#log = context.log
    this.#clock = context.clock
    channel.listen(
      guarded(this, thrown => {
        this.#log.error(
          { err: thrown },
          'a message of a server could not be handled; its connection is closed',
        )
        this.#leave(Fault.from(thrown))
      }),
    )
  }

  get isBusy(): boolean {
    return this.#dispatcher.pending.open.size > 0
  }

  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void {
    // A closed channel drops messages, so the request would never end.
    if (this.#isClosed || this.#isRetired) {
      const code = this.#isRetired ? 'session-lost' : 'disconnected'
      sink.ended(failed(new Fault(code, 'The connection to the server is closed')))
      return
    }
    if (this.#isBehind()) {
      const why = this.#bounds.overloaded('serverQueue', 'The server does not read its input')
      sink.ended(failed(why))
      return
    }
    const { open } = this.#dispatcher.pending
    open.set(id, sink)
    const frame = frameRequest(id, method, params)
    this.#sentBytes += lengthOf(frame)
    this.#channel.send(frame, open.size === 1)
  }

  /**
   * Returns whether a new request would wait too long. Several large requests may pile up briefly in front of
   * a fast server: it is behind only if it accepts nothing, or if far too much is queued.
   */
  #isBehind(): boolean {
    const { queuedBytes } = this.#channel
    const nowMs = this.#clock.nowMs()
    const takenBytes = this.#sentBytes - queuedBytes
    if (queuedBytes === 0 || takenBytes > this.#takenBytes) this.#tookMs = nowMs
    this.#takenBytes = takenBytes
    const max = this.#bounds.max.serverQueue
    return queuedBytes > max && (nowMs - this.#tookMs >= BEHIND_MS || queuedBytes > BURST * max)
  }

  forget(id: OwnId, onLate?: OnLate): void {
    this.#dispatcher.pending.forget(id, onLate)
  }

  named(id: JsonText): CallSink | undefined {
    return this.#dispatcher.pending.find(id)
  }

  keep(id: OwnId, sink: CallSink): void {
    this.#dispatcher.pending.keep(id, sink)
  }

  notify(method: string, params: JsonText | undefined): Promise<void> {
    this.#channel.send(encodeNotification(method, params))
    return Promise.resolve()
  }

  sendResult(id: JsonText, result: JsonText): void {
    this.#channel.send(encodeResult(id, result))
  }

  sendError(id: JsonText, error: JsonText): void {
    this.#channel.send(encodeError(id, error))
  }

  agreed(): void {
    // Only HTTP repeats the revision, in a header.
  }

  pause(): void {
    this.#channel.pause()
  }

  resume(): void {
    this.#channel.resume()
  }

  close(): Promise<void> {
    return this.#channel.close()
  }

  // ── channel events ──

  message(bytes: Buffer): void {
    this.receivedCount += 1
    this.#dispatcher.take(bytes, undefined)
  }

  overrun(): void {
    this.#overrun ??= this.#clock.after(OVERRUN_MS, () => {
      this.#leave(this.#bounds.tooLarge('message', 'It sent a message that is too long, and did not end it'))
    })
  }

  skipped(bytes: number, ends?: Buffer): void {
    this.#overrun?.cancel()
    this.#overrun = undefined
    this.#bounds.hit('message')
    this.#log.warn({ bytes }, 'skipped a message of the server that is longer than the limit')
    if (ends !== undefined) this.#dispatcher.tooLong(bytes, ends)
    const nowMs = this.#clock.nowMs()
    this.#overlongMs = [...this.#overlongMs, nowMs].filter(atMs => nowMs - atMs < OVERLONG.withinMs)
    if (this.#overlongMs.length < OVERLONG.max || this.#isClosed) return
    this.#leave(
      new Fault('too-large', `It sent ${OVERLONG.max} messages in a minute that are longer than the limit`),
    )
  }

  drained(): void {
    // Requests are refused while the server is behind, so nothing waits for this.
  }

  refused(message: Buffer, why: Fault): void {
    const classified = classify(message)
    const isRequest = classified.is === 'message' && classified.message.kind === 'request'
    const untouched = isRequest ? this.#dispatcher.pending.take(classified.message.id) : undefined
    if (!this.#isRetired && !this.#isClosed) {
      this.#isRetired = true
      this.#dispatcher.lost(why)
    }
    untouched?.ended(failed(new Fault('session-lost', why.message)))
  }

  closed(fault: Fault | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#overrun?.cancel()
    const why = fault ?? new Fault('disconnected', 'The connection to the server was closed')
    if (this.#isRetired) this.#dispatcher.endAll(why)
    else this.#dispatcher.close(why)
  }

  #leave(why: Fault): void {
    this.closed(why)
    void this.#channel.close()
  }
}
