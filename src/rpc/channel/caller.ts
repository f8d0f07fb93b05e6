import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink, OnLate } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import { type Channel, type ChannelListener, guarded } from '../../wire/channel.js'
import { encodeError, encodeNotification, encodeResult, frameRequest } from '../../wire/jsonrpc.js'
import { lengthOf } from '../../wire/message-parts.js'
import type { Conversation, ConversationListener } from './conversation.js'
import { Dispatcher } from './dispatcher.js'
import type { OwnId } from './pending-requests.js'

/** A server that has taken nothing for so long does not read. */
const BEHIND_MS = 2000
/** How many times more than it should may wait for a server that reads. */
const BURST = 8

/** So many messages above the limit in so short a time: the server is left, so that it may begin anew. */
const OVERLONG = { max: 3, withinMs: 60_000 }

/** Some messages above the limit end soon after it; one that does not has no end. */
const OVERRUN_MS = 1000

export interface CallerContext {
  readonly log: Logger
  readonly clock: Clock
  /** Those of the server; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/** A conversation over a single channel, such as a child's pipes: streams are told apart by id and token. */
export class PipeCaller implements Conversation, ChannelListener {
  readonly #channel: Channel
  readonly #dispatcher: Dispatcher
  readonly #log: Logger
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly receivesUnsolicited = true
  receivedCount = 0
  #isClosed = false
  /** What was sent in requests, how much of that was taken when we last looked, and when any last was. */
  #sentBytes = 0
  #takenBytes = 0
  #tookMs = Number.NEGATIVE_INFINITY
  /** When the last messages came that were too long. */
  #overlongMs: readonly number[] = []
  /** Runs while such a message is not over. */
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
    return this.#dispatcher.pending.size > 0
  }

  nextId(): number {
    return this.#dispatcher.pending.nextId()
  }

  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void {
    // A closed channel swallows what is sent on it, and the request would never end.
    if (this.#isClosed) {
      sink.ended(failed(new Fault('disconnected', 'The connection to the server is closed')))
      return
    }
    if (this.#isBehind()) {
      const why = this.#bounds.overloaded('serverQueue', 'The server does not read its input')
      sink.ended(failed(why))
      return
    }
    this.#dispatcher.pending.add(id, sink)
    const frame = frameRequest(id, method, params)
    this.#sentBytes += lengthOf(frame)
    this.#channel.send(frame, this.#dispatcher.pending.size === 1)
  }

  /**
   * Whether a new request would wait too long. Several large ones pile up for a moment in front of a quick
   * server: it is behind only if it takes nothing, or if there is far too much.
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

  // ── what the channel tells ──

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

  closed(fault: Fault | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#overrun?.cancel()
    this.#dispatcher.close(fault ?? new Fault('disconnected', 'The connection to the server was closed'))
  }

  #leave(why: Fault): void {
    this.closed(why)
    void this.#channel.close()
  }
}
