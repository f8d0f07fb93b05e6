import type { Clock } from '../../../kernel/async/clock.js'
import type { Holding } from '../../../kernel/byte-account.js'
import type { Principal } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import { randomId } from '../../../kernel/ids.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { LimitName } from '../../../kernel/limits.js'
import type { Logger } from '../../../kernel/logger.js'
import type { Channel, ChannelListener } from '../../../wire/channel.js'
import { endpointEvent, messageEvent, SSE_COMMENT, SSE_HEADERS } from '../../../wire/framing/sse-write.js'
import type { HttpResponder, HttpStream } from '../../../wire/http.js'
import type { OutgoingMessage } from '../../../wire/message-parts.js'

/**
 * Drained bytes are only observed in large pieces, so a long message on a slow line gets time by its length.
 */
const SLOWEST_BYTES_PER_MS = 256
/** Bounds the messages waiting while their client is behind; further ones are rejected. */
const BUFFERED_MAX = 100

/** A waiting message of the client, and how it is delivered. */
interface BufferedMessage {
  readonly bytes: number
  readonly deliver: () => void
}

export interface SseSessionContext {
  /** With several replicas, it identifies the one with the stream. */
  readonly id?: string | undefined
  readonly principal: Principal
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
}

/**
 * One HTTP+SSE session (2024-11-05, basic/transports): the server side sends events on a single stream, the
 * client POSTs. It lives as long as the stream.
 */
export class SseSession implements Channel {
  readonly id: string
  readonly principal: Principal
  readonly #clock: Clock
  readonly #log: Logger
  readonly #bounds: LimitCounters
  readonly #out: HttpStream
  #listener: ChannelListener | undefined
  #isPaused = false
  #isOver = false
  #buffered: BufferedMessage[] = []
  /** Accounts for the buffered bytes. */
  readonly #holding: Holding
  /** True if the listener waits for `drained`. */
  #isSlow = false
  /** The bytes queued at the last measurement, and the time when the client last read any (monotonic). */
  #seenBytes = 0
  #lastReadMs: number

  /** Opens the stream and announces the endpoint: the reference `messages` with the id of the session. */
  constructor(responder: HttpResponder, messages: string, context: SseSessionContext) {
    const { id = randomId(), principal, clock, log, bounds } = context
    this.id = id
    this.principal = principal
    this.#clock = clock
    this.#log = log
    this.#bounds = bounds
    this.#lastReadMs = clock.nowMs()
    this.#holding = bounds.inbound.open(() => this.#disconnect())
    this.#out = responder.stream(200, SSE_HEADERS, () => this.#onRead())
    this.#out.write(endpointEvent(`${messages}?sessionId=${this.id}`))
    responder.onGone(() => this.#settle(undefined))
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener
  }

  get queuedBytes(): number {
    return this.#out.queuedBytes
  }

  send(message: OutgoingMessage): boolean {
    if (this.#isOver) return false
    this.#measure()
    // A reading client may be far behind for a moment, because many calls may be answered at once.
    if (this.#isBehind && this.#clock.nowMs() - this.#lastReadMs >= this.#bounds.max.stall) {
      this.#cutOff('clientQueue')
      return false
    }
    this.#out.write(messageEvent(message))
    this.#seenBytes = this.#out.queuedBytes
    if (this.#seenBytes <= this.#bounds.max.softQueue) return true
    this.#isSlow = true
    return false
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#flush()
  }

  close(): Promise<void> {
    // An ended stream stays open until it is read completely.
    if (!this.#isOver && this.#isBehind) this.#cutOff('clientQueue')
    else this.#out.end()
    this.#settle(undefined)
    return Promise.resolve()
  }

  // ── called by the listener ──

  /** Returns whether another message of the client fits; if not, it may retry later. */
  hasRoomFor(bytes: number): boolean {
    if (this.#buffered.length === 0) return true
    return this.#buffered.length < BUFFERED_MAX && this.#holding.bytes + bytes <= this.#bounds.max.body
  }

  /** Takes a message that fits; `deliver` is called at once, or after a pause. */
  receive(bytes: number, deliver: () => void): void {
    if (!this.#isPaused) {
      deliver()
      return
    }
    this.#buffered.push({ bytes, deliver })
    this.#holding.set(this.#holding.bytes + bytes)
  }

  /** Delivers buffered messages until the listener pauses again. */
  #flush(): void {
    while (!this.#isPaused && !this.#isOver) {
      const next = this.#buffered.shift()
      if (next === undefined) return
      this.#holding.set(this.#holding.bytes - next.bytes)
      next.deliver()
    }
  }

  keepAlive(): void {
    if (this.#isOver) return
    this.#measure()
    this.#out.write(SSE_COMMENT)
    this.#seenBytes = this.#out.queuedBytes
  }

  /** Disconnects the client if it has not read for too long. */
  sweep(): void {
    if (this.#isOver) return
    this.#measure()
    const timeoutMs = Math.max(this.#bounds.max.stall, this.#seenBytes / SLOWEST_BYTES_PER_MS)
    if (this.#clock.nowMs() - this.#lastReadMs >= timeoutMs) this.#cutOff('stall')
  }

  /** Records whether the client has read anything since the last measurement. */
  #measure(): void {
    const { queuedBytes } = this.#out
    if (queuedBytes === 0 || queuedBytes < this.#seenBytes) this.#lastReadMs = this.#clock.nowMs()
    this.#seenBytes = queuedBytes
  }

  /** Reports to the listener once the client has read enough. */
  #onRead(): void {
    if (!this.#isSlow || this.#isOver || this.#out.queuedBytes > this.#bounds.max.softQueue) return
    this.#isSlow = false
    this.#listener?.drained()
  }

  get #isBehind(): boolean {
    return this.#out.queuedBytes > this.#bounds.max.clientQueue
  }

  #cutOff(limit: LimitName): void {
    this.#bounds.hit(limit, { principal: this.principal })
    this.#disconnect()
  }

  #disconnect(): void {
    const { queuedBytes } = this.#out
    const facts = { principal: this.principal, queuedBytes }
    this.#log.warn(facts, 'cut off a client that does not read its event stream')
    this.#settle(new Fault('disconnected', 'The client does not read its event stream'))
    this.#out.destroy()
  }

  #settle(why: Fault | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#buffered = []
    this.#holding.set(0)
    this.#listener?.closed(why)
  }
}
