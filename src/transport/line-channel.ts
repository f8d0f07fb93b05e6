import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '../kernel/async/clock.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault, isBrokenPipe } from '../kernel/faults.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import { SPEAKS_HTTP } from '../kernel/machine/socket-path.js'
import type { Channel, ChannelListener } from '../wire/channel.js'
import { LineSplitter } from '../wire/framing/ndjson.js'
import type { OutgoingMessage } from '../wire/message-parts.js'
import { Backlog } from './backlog.js'
import { ChannelEvents } from './channel-events.js'
import { LineWriter } from './line-writer.js'

export interface LineChannelOptions {
  /** A client may leave at any time; a server that leaves causes a fault. */
  readonly peer: 'client' | 'server'
  readonly log: Logger
  readonly clock: Clock
  readonly bounds: LimitCounters
}

/** Maximum time that `close` waits for a peer. */
const CLOSE_MS = 2000

const HTTP_STATUS_LINE = /^HTTP\/\d\.\d /
const SPEAKS_HTTP_TEXT = 'speaks HTTP: append "#/mcp", or "#" and the path of its endpoint, to its address'

const hasLeft = (error: Error | undefined): boolean => error === undefined || isBrokenPipe(error)

/**
 * A channel over a duplex stream of lines, framed as on stdio (spec 2025-11-25, transports, "stdio"). The
 * message of its fault continues a sentence that begins with the name of the peer.
 */
export class LineChannel implements Channel {
  readonly #stream: Duplex
  readonly #peer: 'client' | 'server'
  readonly #log: Logger
  readonly #clock: Clock
  readonly #lines: LineSplitter
  readonly #writer: LineWriter
  readonly #backlog: Backlog
  readonly #gone = new Deferred<void>()
  readonly #events = new ChannelEvents()
  #isPaused = false
  #error: Error | undefined
  #terminator: Timer | undefined
  #closing: Promise<void> | undefined
  /** Replaced after the first line. */
  #onLine: (line: Buffer) => void

  /** `stream` must be unread. */
  constructor(stream: Duplex, options: LineChannelOptions) {
    const { bounds, clock, peer } = options
    this.#stream = stream
    this.#peer = peer
    this.#onLine = peer === 'server' ? this.#onFirstLine : this.#onNextLine
    this.#log = options.log
    this.#clock = clock
    this.#lines = new LineSplitter({
      maxBytes: peer === 'client' ? bounds.max.body : bounds.max.message,
      account: bounds.inbound,
      onOverrun: () => this.#events.listener?.overrun?.(),
    })
    this.#writer = new LineWriter(stream)
    this.#backlog = new Backlog({
      bounds,
      peer,
      clock,
      queue: this,
      onDrained: () => this.#events.listener?.drained(),
      onStalled: this.#onStalled,
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

  send(message: OutgoingMessage, isAlone?: boolean): boolean {
    if (this.#isEnding || !this.#stream.writable || !this.#backlog.admit()) return false
    this.#writer.send(message, isAlone)
    return this.#backlog.grew()
  }

  pause(): void {
    this.#isPaused = true
    // The peer's end of the connection must be read.
    if (!this.#isEnding) this.#stream.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#events.listener !== undefined) this.#stream.resume()
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      // A peer that is this far behind would not catch up during an orderly end.
      if (!this.#backlog.hasRoom) this.#onStalled()
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

  /** The first line of a server shows whether it expects HTTP. */
  readonly #onFirstLine = (line: Buffer): void => {
    // A chunk may hold further lines, which come here too.
    const isFirst = this.#onLine === this.#onFirstLine
    this.#onLine = this.#onNextLine
    if (!isFirst || !HTTP_STATUS_LINE.test(line.toString('latin1', 0, 16))) this.#onNextLine(line)
    else if (!this.#isEnding) {
      this.#settle(new Fault('unavailable', SPEAKS_HTTP_TEXT, { data: { reason: SPEAKS_HTTP } }))
      this.#stream.destroy()
    }
  }

  // The listener may close the channel between two lines of one chunk.
  readonly #onNextLine = (line: Buffer): void => {
    if (!this.#isEnding) this.#events.listener?.message(line)
  }

  readonly #onSkipped = (bytes: number, ends: Buffer): void => {
    if (!this.#isEnding) this.#events.listener?.skipped(bytes, ends)
  }

  readonly #onEnd = (): void => {
    // The last line may lack its newline, as on stdio.
    if (!this.#isEnding) this.#lines.end(this.#onLine, this.#onSkipped)
    if (this.#peer === 'client' && !this.#isEnding && this.#events.listener?.ended !== undefined) {
      this.#events.listener.ended()
      return
    }
    this.#settle()
    this.#end()
  }

  readonly #onStalled = (): void => {
    if (this.#isEnding) return
    const fault = new Fault('disconnected', 'does not read its messages')
    this.#log.warn({ reason: fault.message }, 'disconnected a peer')
    this.#settle(fault)
    // Without an error Node creates one for each queued line, which blocks the event loop
    // (lib/internal/streams/writable.js, errorBuffer).
    this.#stream.destroy(fault)
  }

  #onClose(): void {
    this.#terminator?.cancel()
    this.#settle()
    this.#gone.resolve()
  }

  /** Ends our side once everything is written; cuts off a peer that does not end its side in time. */
  #end(): void {
    if (this.#stream.destroyed) return
    this.#stream.resume()
    this.#stream.end()
    this.#terminator ??= this.#clock.after(CLOSE_MS, () => this.#stream.destroy())
  }

  #endFault(): Fault | undefined {
    if (this.#closing !== undefined) return undefined
    if (!hasLeft(this.#error)) {
      return new Fault('disconnected', 'lost the connection', { cause: this.#error })
    }
    return this.#peer === 'client' ? undefined : new Fault('disconnected', 'closed the connection')
  }

  #settle(fault = this.#endFault()): void {
    if (this.#events.isClosed) return
    this.#lines.drop()
    this.#backlog.end()
    this.#events.close(fault)
  }
}
