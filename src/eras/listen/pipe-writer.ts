import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Fault } from '../../kernel/faults.js'
import { type JsonText, textOf } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Arrival } from '../../model/links.js'
import type { Outlet, ReplyStream } from '../../rpc/host.js'
import type { Channel } from '../../wire/channel.js'
import { encodeRequest, idKey } from '../../wire/jsonrpc.js'
import type { OutgoingMessage } from '../../wire/message-parts.js'

/** How long a client may take to answer a ping that follows what it was sent. */
const PING_MS = 1000
/**
 * More than Node reads at a time, of what JSON may begin with: what was sent before is in an earlier read
 * than the end of a message behind this, and is handled, with its promises, before that is read.
 */
const GAP = ' '.repeat(64 * 1024)

/** An answer that waits, and what follows it. */
interface Due {
  readonly frames: readonly OutgoingMessage[]
  readonly timer: Timer
  /** The key of the ping whose answer it waits for. */
  readonly ping: string
}

export interface WriterOptions {
  readonly clock: Clock
  readonly bounds: LimitCounters
  readonly arrival?: Omit<Arrival, 'headers'> | undefined
  /** What ids of our requests begin with, for a client that may know those of an earlier connection. */
  readonly idPrefix?: string | undefined
}

/** Writes to the one client of a channel, on whatever request: there is only one way. */
export class PipeWriter implements ReplyStream, Outlet {
  readonly canAsk = true
  readonly arrival: Omit<Arrival, 'headers'> | undefined
  /**
   * Whether the client handles notifications a moment later than answers, and drops progress that came in the
   * same read as the answer. Answers to such a client wait until it has read what was sent before: it is
   * pinged behind that. Where that cannot be, a gap keeps them apart.
   */
  readsLate = false
  /** Whether the client can be asked: its revision has requests of servers, and its input is open. */
  canPing = false
  readonly #channel: Channel
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly #due = new Set<Due>()
  readonly #idPrefix: string | undefined
  #requests = 0
  /** Whether the client handles what comes next after all that was said about requests under way. */
  #isRead = true
  /** The key of the last ping. */
  #ping = ''
  /** Whether nothing was said about requests since then. */
  #isLastWord = false
  /** Whether the client has answered the last of its pings, in time or late. */
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
    if (this.readsLate) {
      this.#isLastWord = false
      this.#isRead = false
    }
    this.write(frame)
  }

  /** Sends an answer, if there is one, and what must follow it at once. */
  end(
    frame: OutgoingMessage | undefined,
    { behind }: { readonly behind?: Buffer | undefined; readonly why?: Fault | undefined } = {},
  ): void {
    const frames = [frame, behind].filter(one => one !== undefined)
    if (frames.length === 0) return
    if (this.#isRead || !this.canPing || !this.#answersPings) {
      this.#writeApart(frames)
      return
    }
    if (!this.#isLastWord) this.#sendPing()
    const timer = this.#clock.after(PING_MS, () => {
      this.#answersPings = false
      this.#flush(due)
    })
    const due: Due = { frames, timer, ping: this.#ping }
    this.#due.add(due)
  }

  /** Takes an answer of the client: whether it was asked here, by a ping. */
  answered(id: JsonText): boolean {
    const key = idKey(id)
    const due = [...this.#due].filter(({ ping }) => ping === key)
    if (due.length === 0 && key !== this.#ping) return false
    this.#answersPings = true
    if (key === this.#ping && this.#isLastWord) this.#isRead = true
    for (const one of due) this.#flush(one, false)
    return true
  }

  write(frame: OutgoingMessage): void {
    // A client that does not read is not read from, so that it cannot make us queue more and more answers.
    // What servers send by themselves does not stop for that: the channel gives up on a client in the end.
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

  /** Sends what still waits, because the channel is about to be closed. */
  flush(): void {
    for (const due of [...this.#due]) this.#flush(due)
  }

  #sendPing(): void {
    const id = this.nextRequestId()
    this.#ping = idKey(textOf(id))
    this.#isLastWord = true
    this.write(encodeRequest(id, 'ping', undefined))
  }

  #isBehind(): boolean {
    return this.#bounds.isOver('softQueue', this.#channel.queuedBytes)
  }

  #flush(due: Due, isApart = true): void {
    due.timer.cancel()
    if (!this.#due.delete(due)) return
    if (isApart) this.#writeApart(due.frames)
    else for (const frame of due.frames) this.write(frame)
  }

  /** Writes behind a gap, if the client may not have handled all; one that is behind has enough to read. */
  #writeApart([first, ...others]: readonly OutgoingMessage[]): void {
    if (first !== undefined) this.write(this.#isRead || this.#isBehind() ? first : behindGap(first))
    for (const frame of others) this.write(frame)
    this.#isRead = true
  }
}

const behindGap = (frame: OutgoingMessage): OutgoingMessage =>
  Buffer.isBuffer(frame) ? { head: GAP, body: frame, tail: '' } : { ...frame, head: GAP + frame.head }
