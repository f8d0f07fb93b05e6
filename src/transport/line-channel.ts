import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '../kernel/async/clock.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault } from '../kernel/faults.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../kernel/limits.js'
import type { Logger } from '../kernel/logger.js'
import type { Channel, ChannelListener } from '../wire/channel.js'
import { LineSplitter } from '../wire/framing/ndjson.js'
import type { OutgoingMessage } from '../wire/message-parts.js'
import { BACKLOG_LIMITS, Backlog, type BacklogLimits, backlogLimits } from './backlog.js'
import { ChannelEvents } from './channel-events.js'
import { LineWriter } from './line-writer.js'

/** Bounds on one connection. */
export interface LineLimits extends BacklogLimits {
  /** A longer line is skipped and told as `skipped`. */
  readonly lineBytes: number
  /** How long `close` waits for a peer that does not read or does not leave. */
  readonly closeMs: number
}

/** What holds when nothing else was said. */
export const LINE_LIMITS: LineLimits = { ...BACKLOG_LIMITS, lineBytes: DEFAULT_LIMITS.message, closeMs: 2000 }

/** The same as somebody set them. */
export const lineLimits = (limits: Limits, peer: 'client' | 'server'): LineLimits => ({
  ...LINE_LIMITS,
  ...backlogLimits(limits),
  lineBytes: peer === 'client' ? limits.body : limits.message,
})

/** What a connection needs to know to be a channel. */
export interface LineChannelOptions {
  /** A client leaves when it wants to; a server that leaves is a fault. */
  readonly peer: 'client' | 'server'
  readonly limits: LineLimits
  readonly log: Logger
  readonly clock: Clock
  /** Where it is counted that one was reached. */
  readonly bounds?: LimitCounters | undefined
}

/** How the operating system says that the other side is gone. */
const LEFT = new Set(['ECONNRESET', 'EPIPE'])

const hasLeft = (error: Error | undefined): boolean =>
  error === undefined || ('code' in error && typeof error.code === 'string' && LEFT.has(error.code))

/**
 * A connection that carries lines both ways, framed as on stdio (spec 2025-11-25, transports, "stdio"), as a
 * channel. The words of its fault follow the name of the peer.
 */
export class LineChannel implements Channel {
  readonly #stream: Duplex
  readonly #options: LineChannelOptions
  readonly #lines: LineSplitter
  readonly #writer: LineWriter
  readonly #backlog: Backlog
  readonly #gone = new Deferred<void>()
  readonly #events = new ChannelEvents()
  #isPaused = false
  #error: Error | undefined
  #terminator: Timer | undefined
  #closing: Promise<void> | undefined

  /** Takes a stream that nobody has read from. */
  constructor(stream: Duplex, options: LineChannelOptions) {
    const { bounds, clock, limits, peer } = options
    this.#stream = stream
    this.#options = options
    this.#lines = new LineSplitter({
      maxBytes: limits.lineBytes,
      account: bounds?.inbound,
      onOverrun: () => this.#events.listener?.overrun?.(),
    })
    this.#writer = new LineWriter(stream)
    this.#backlog = new Backlog({
      bounds,
      // What waits for servers are requests, which are bounded where they come from.
      account: peer === 'client' ? bounds?.unread : undefined,
      limits,
      clock,
      queuedBytes: () => stream.writableLength,
      onDrained: () => this.#events.listener?.drained(),
      onStalled: this.#onBehind,
    })
    stream.on('error', error => {
      this.#error = error
    })
    stream.on('close', () => this.#onClose())
    stream.on('drain', () => this.#backlog.shrank())
  }

  get queuedBytes(): number {
    return this.#writer.queuedBytes
  }

  listen(listener: ChannelListener): void {
    if (!this.#events.attach(listener)) return
    this.#stream.on('data', this.#onData)
    this.#stream.on('end', this.#onEnd)
    if (!this.#isPaused) this.#stream.resume()
  }

  send(message: OutgoingMessage): boolean {
    if (this.#isEnding || !this.#stream.writable) return false
    if (!this.#backlog.hasRoom) {
      this.#options.bounds?.hit('clientQueue')
      // Not now: whoever sends does not expect the end of the channel in the middle of it.
      setImmediate(this.#onBehind)
      return false
    }
    this.#writer.send(message)
    return this.#backlog.grew()
  }

  pause(): void {
    this.#isPaused = true
    // The end of the other side must be read.
    if (!this.#isEnding) this.#stream.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#events.listener !== undefined) this.#stream.resume()
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      // What a peer has not read by now it would not read in the time that an orderly end gives it.
      if (!this.#backlog.hasRoom) this.#onBehind()
      this.#closing = this.#gone.promise
      this.#end()
    }
    return this.#closing
  }

  get #isEnding(): boolean {
    return this.#events.isClosed || this.#closing !== undefined
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#isEnding) this.#lines.push(chunk, this.#onLine, this.#onSkipped)
  }

  // A listener may close us between two lines of one chunk.
  readonly #onLine = (line: Buffer): void => {
    if (!this.#isEnding) this.#events.listener?.message(line)
  }

  readonly #onSkipped = (bytes: number, ends: Buffer): void => {
    if (!this.#isEnding) this.#events.listener?.skipped(bytes, ends)
  }

  readonly #onEnd = (): void => {
    // The line that the end of the stream cut off, as on stdio.
    if (!this.#isEnding) this.#lines.end(this.#onLine, this.#onSkipped)
    const isClient = this.#options.peer === 'client'
    if (isClient && !this.#isEnding && this.#events.listener?.ended !== undefined) {
      this.#events.listener.ended()
      return
    }
    this.#settle()
    this.#end()
  }

  readonly #onBehind = (): void => {
    if (this.#isEnding) return
    const fault = new Fault('disconnected', 'does not read what it is sent')
    this.#options.log.warn({ reason: fault.message }, 'a connection was cut off')
    this.#settle(fault)
    // Without an error of ours Node makes one for each line that waits, which holds up everybody for a while
    // (lib/internal/streams/writable.js, errorBuffer).
    this.#stream.destroy(fault)
  }

  #onClose(): void {
    this.#terminator?.cancel()
    this.#settle()
    this.#gone.resolve()
  }

  /** Ends our side when all is written; a peer that does not end its own in time is cut off. */
  #end(): void {
    if (this.#stream.destroyed) return
    const { clock, limits } = this.#options
    this.#stream.resume()
    this.#stream.end()
    this.#terminator ??= clock.after(limits.closeMs, () => this.#stream.destroy())
  }

  #endFault(): Fault | undefined {
    if (this.#closing !== undefined) return undefined
    if (!hasLeft(this.#error)) {
      return new Fault('disconnected', 'lost the connection', { cause: this.#error })
    }
    return this.#options.peer === 'client' ? undefined : new Fault('disconnected', 'closed the connection')
  }

  #settle(fault = this.#endFault()): void {
    if (this.#events.isClosed) return
    this.#lines.drop()
    this.#backlog.end()
    this.#events.close(fault)
  }
}
