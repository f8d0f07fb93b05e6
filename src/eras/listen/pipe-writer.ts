import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Fault } from '../../kernel/faults.js'
import { type JsonText, textOf } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Arrival } from '../../model/links.js'
import type { Outlet, ReplyStream } from '../../rpc/outlet.js'
import type { Channel } from '../../wire/channel.js'
import { encodeRequest, idKey } from '../../wire/jsonrpc.js'
import type { OutgoingMessage } from '../../wire/message-parts.js'

/** The time for a client to answer a ping sent after other messages. */
const PING_MS = 1000
/**
 * Longer than one read of Node, of a character that JSON may begin with. Everything sent before it arrives in
 * an earlier read than the end of the message after it, and is handled, including its promises, before that.
 */
const GAP = ' '.repeat(64 * 1024)

/** A deferred answer and the messages that follow it. */
interface DeferredAnswer {
  readonly frames: readonly OutgoingMessage[]
  readonly timer: Timer
  /** The key of the ping whose answer it waits for. */
  readonly ping: string
}

export interface WriterOptions {
  readonly clock: Clock
  readonly bounds: LimitCounters
  readonly arrival?: Omit<Arrival, 'headers'> | undefined
  /** A prefix for ids of our requests, for a client that may remember ids of an earlier connection. */
  readonly idPrefix?: string | undefined
}

/** Writes to the single client of a channel, for all requests. */
export class PipeWriter implements ReplyStream, Outlet {
  readonly canAsk = true
  readonly arrival: Omit<Arrival, 'headers'> | undefined
  /**
   * True if the client handles notifications later than answers, and drops progress that arrives in the same
   * read as the answer. Answers to such a client wait until it has read everything before them, which a ping
   * confirms. If it cannot be pinged, a gap separates them.
   */
  defersNotifications = false
  /** True if the client can be asked: its revision has server requests, and its input is open. */
  canPing = false
  readonly #channel: Channel
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly #deferred = new Set<DeferredAnswer>()
  readonly #idPrefix: string | undefined
  #requests = 0
  /** True if the client has handled everything sent about requests in flight. */
  #isCaughtUp = true
  /** The key of the last ping. */
  #ping = ''
  /** True if nothing was sent about requests since that ping. */
  #isPingLast = false
  /** True if the client has answered its last ping, in time or late. */
  #answersPings = true

  constructor(channel: Channel, { clock, bounds, idPrefix, arrival }: WriterOptions) {
    this.#channel = channel
    this.arrival = arrival && { remoteAddress: arrival.remoteAddress, remotePort: arrival.remotePort }
    this.#clock = clock
    this.#bounds = bounds
    this.#idPrefix = idPrefix
  }

  get queuedBytes(): number {
    return this.#channel.queuedBytes
  }

  send(frame: OutgoingMessage, mayDrop = false): void {
    if (mayDrop && this.#isBehind()) return
    if (this.defersNotifications) {
      this.#isPingLast = false
      this.#isCaughtUp = false
    }
    this.write(frame)
  }

  /** Sends an answer, if there is one, and the messages that must follow it at once. */
  end(
    frame: OutgoingMessage | undefined,
    { followUp }: { readonly followUp?: Buffer | undefined; readonly why?: Fault | undefined } = {},
  ): void {
    const frames = [frame, followUp].filter(one => one !== undefined)
    if (frames.length === 0) return
    if (this.#isCaughtUp || !this.canPing || !this.#answersPings) {
      this.#writeApart(frames)
      return
    }
    if (!this.#isPingLast) this.#sendPing()
    const timer = this.#clock.after(PING_MS, () => {
      this.#answersPings = false
      this.#flush(deferred)
    })
    const deferred: DeferredAnswer = { frames, timer, ping: this.#ping }
    this.#deferred.add(deferred)
  }

  /** Handles an answer of the client; returns whether it answers a ping sent here. */
  answered(id: JsonText): boolean {
    const key = idKey(id)
    const deferred = [...this.#deferred].filter(({ ping }) => ping === key)
    if (deferred.length === 0 && key !== this.#ping) return false
    this.#answersPings = true
    if (key === this.#ping && this.#isPingLast) this.#isCaughtUp = true
    for (const one of deferred) this.#flush(one, false)
    return true
  }

  write(frame: OutgoingMessage): void {
    // Pausing input stops a client that does not read from queueing ever more answers. Unsolicited messages
    // of servers continue: eventually the channel disconnects such a client.
    if (!this.#channel.send(frame)) this.#channel.pause()
  }

  notify(frame: Buffer, method: string): void {
    if (method !== 'notifications/message' || !this.#isBehind()) this.write(frame)
  }

  request(frame: Buffer): void {
    this.write(frame)
  }

  nextRequestId(): number | string {
    this.#requests += 1
    return this.#idPrefix === undefined ? this.#requests : `${this.#idPrefix}${this.#requests}`
  }

  /** Sends deferred answers, because the channel is about to be closed. */
  flush(): void {
    for (const deferred of [...this.#deferred]) this.#flush(deferred)
  }

  #sendPing(): void {
    const id = this.nextRequestId()
    this.#ping = idKey(textOf(id))
    this.#isPingLast = true
    this.write(encodeRequest(id, 'ping', undefined))
  }

  #isBehind(): boolean {
    return this.#bounds.isOver('softQueue', this.#channel.queuedBytes)
  }

  #flush(deferred: DeferredAnswer, isApart = true): void {
    deferred.timer.cancel()
    if (!this.#deferred.delete(deferred)) return
    if (isApart) this.#writeApart(deferred.frames)
    else for (const frame of deferred.frames) this.write(frame)
  }

  /**
   * Writes after a gap if the client may not have handled everything; a client that is behind needs no gap.
   */
  #writeApart([first, ...others]: readonly OutgoingMessage[]): void {
    if (first !== undefined) this.write(this.#isCaughtUp || this.#isBehind() ? first : afterGap(first))
    for (const frame of others) this.write(frame)
    this.#isCaughtUp = true
  }
}

const afterGap = (frame: OutgoingMessage): OutgoingMessage =>
  Buffer.isBuffer(frame) ? { head: GAP, body: frame, tail: '' } : { ...frame, head: GAP + frame.head }
