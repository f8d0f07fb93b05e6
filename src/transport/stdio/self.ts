import { Console } from 'node:console'
import type { Readable, Writable } from 'node:stream'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault, isBrokenPipe } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import { type Logger, silentLogger } from '../../kernel/logger.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import { LineSplitter } from '../../wire/framing/ndjson.js'
import type { OutgoingMessage } from '../../wire/message-parts.js'
import { Backlog } from '../backlog.js'
import { ChannelEvents } from '../channel-events.js'
import { LineWriter } from '../line-writer.js'

/** Defaults to the streams of this process. */
export interface SelfOptions {
  readonly input?: Readable
  readonly output?: Writable
  readonly clock?: Clock
  readonly log?: Logger
  /** Lines longer than `body` are skipped and reported as `skipped`. */
  readonly bounds?: LimitCounters
}

/** Maximum time that `close` waits for a client that does not read. */
const FLUSH_MS = 2000

class StdioSelf implements Channel {
  readonly #input: Readable
  readonly #output: Writable
  readonly #clock: Clock
  readonly #log: Logger
  readonly #lines: LineSplitter
  readonly #writer: LineWriter
  readonly #backlog: Backlog
  readonly #events = new ChannelEvents()
  #closing: Promise<void> | undefined

  constructor({
    input = process.stdin,
    output = process.stdout,
    clock = systemClock,
    log = silentLogger,
    bounds = new LimitCounters(),
  }: SelfOptions) {
    this.#input = input
    this.#output = output
    this.#clock = clock
    this.#log = log
    this.#lines = new LineSplitter({ maxBytes: bounds.max.body, account: bounds.inbound })
    this.#writer = new LineWriter(output)
    this.#backlog = new Backlog({
      peer: 'client',
      // The client program may be suspended for hours, in a debugger or with its computer.
      isPatient: true,
      bounds,
      clock,
      queue: this,
      onDrained: () => this.#events.listener?.drained(),
      onStalled: this.#onStalled,
    })
    // A client may leave at any time, even before `listen`.
    output.on('error', () => undefined)
    input.on('error', () => undefined)
  }

  get queuedBytes(): number {
    return this.#writer.queuedBytes
  }

  listen(listener: ChannelListener): void {
    if (!this.#events.attach(listener)) return
    this.#output.on('error', this.#onOutputError)
    this.#output.on('close', this.#onEnd)
    this.#output.on('drain', this.#onDrain)
    this.#input.on('error', this.#onInputError)
    this.#input.on('end', this.#onInputEnd)
    this.#input.on('close', this.#onInputClose)
    this.#input.on('data', this.#onData)
  }

  send(message: OutgoingMessage): boolean {
    if (this.#events.isClosed || this.#closing !== undefined || !this.#backlog.admit()) return false
    this.#writer.send(message)
    return this.#backlog.grew()
  }

  pause(): void {
    this.#input.pause()
  }

  resume(): void {
    if (!this.#events.isClosed && this.#events.listener !== undefined) this.#input.resume()
  }

  close(): Promise<void> {
    this.#closing ??= this.#flushed().then(() => this.#settle(undefined))
    return this.#closing
  }

  async #flushed(): Promise<void> {
    const output = this.#output
    if (!output.writable || output.writableLength === 0) return
    // Called after all earlier writes, even failed ones.
    const written = new Promise<true>(resolve => output.write('', () => resolve(true)))
    if ((await within(written, { clock: this.#clock, ms: FLUSH_MS })) === true) return
    this.#log.warn({ queuedBytes: this.queuedBytes }, 'disconnected from a client that does not read')
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#events.isClosed) this.#lines.push(chunk, this.#onLine, this.#onSkipped)
  }

  // Includes lines that are not JSON: the client gets an error.
  readonly #onLine = (line: Buffer): void => this.#events.listener?.message(line)

  readonly #onSkipped = (bytes: number, ends: Buffer): void => this.#events.listener?.skipped(bytes, ends)

  readonly #onDrain = (): void => {
    if (!this.#events.isClosed) this.#backlog.shrank()
  }

  readonly #onStalled = (): void => {
    if (this.#events.isClosed) return
    const { queuedBytes } = this
    const fault = new Fault('disconnected', 'the client does not read its messages')
    this.#log.warn(
      { reason: fault.message, queuedBytes },
      'disconnected from a client that is too far behind',
    )
    this.#settle(fault)
  }

  readonly #onEnd = (): void => this.#settle(undefined)

  readonly #onInputEnd = (): void => {
    if (this.#events.isClosed) return
    this.#endLines()
    if (this.#events.listener?.ended === undefined) this.#settle(undefined)
    else this.#events.listener.ended()
  }

  readonly #onInputClose = (): void => {
    if (!this.#input.readableEnded) this.#settle(undefined)
  }

  /** Delivers a last line without a newline, unless the channel is closing. */
  #endLines(): void {
    if (this.#closing === undefined) this.#lines.end(this.#onLine, this.#onSkipped)
  }

  readonly #onInputError = (error: Error): void =>
    this.#settle(new Fault('disconnected', 'standard input failed', { cause: error }))

  readonly #onOutputError = (error: Error): void => {
    this.#settle(
      isBrokenPipe(error) ? undefined : new Fault('disconnected', 'standard output failed', { cause: error }),
    )
  }

  #settle(fault: Fault | undefined): void {
    if (this.#events.isClosed) return
    this.#endLines()
    this.#backlog.end()
    this.#input.off('data', this.#onData)
    // Otherwise stdin would keep the process alive.
    this.#input.pause()
    this.#events.close(fault)
  }
}

/**
 * Creates the channel to the client over stdin and stdout. Each line is a message, even if it is not JSON.
 * The end of stdin closes it (spec 2025-11-25, lifecycle, "Shutdown").
 */
export const createStdioSelf = (options: SelfOptions = {}): Channel => new StdioSelf(options)

/** Redirects `console` to stderr permanently, so that no dependency can corrupt the protocol. */
export function protectStdout(): void {
  // Replaces single methods: a dependency may hold a reference to the object.
  Object.assign(globalThis.console, new Console(process.stderr, process.stderr))
}
