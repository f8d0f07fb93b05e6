import { Console } from 'node:console'
import type { Readable, Writable } from 'node:stream'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import { type Logger, silentLogger } from '../../kernel/logger.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import { LineSplitter } from '../../wire/framing/ndjson.js'
import type { OutgoingMessage } from '../../wire/message-parts.js'
import { ChannelEvents } from '../channel-events.js'
import { LineWriter } from '../line-writer.js'

/** Whose stdin and stdout; all default to our own process. */
export interface SelfOptions {
  readonly input?: Readable
  readonly output?: Writable
  readonly clock?: Clock
  readonly log?: Logger
  /** A line that is longer than `body` is skipped and told as `skipped`. The defaults if absent. */
  readonly bounds?: LimitCounters
}

/** How long `close` waits for a client that does not read. */
const FLUSH_MS = 2000

class StdioSelf implements Channel {
  readonly #input: Readable
  readonly #output: Writable
  readonly #clock: Clock
  readonly #log: Logger
  readonly #lines: LineSplitter
  readonly #writer: LineWriter
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
    // A client that leaves before we listen, or after, is no reason to crash.
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
    return !this.#events.isClosed && this.#closing === undefined && this.#writer.send(message)
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

  #flushed(): Promise<void> {
    const output = this.#output
    if (!output.writable || output.writableLength === 0) return Promise.resolve()
    return new Promise(resolve => {
      const timer = this.#clock.after(FLUSH_MS, () => {
        const facts = { queuedBytes: this.queuedBytes }
        this.#log.warn(facts, 'left a client that does not read what it is sent')
        resolve()
      })
      // The callback of an empty write comes after those of all writes before it; also when they failed.
      output.write('', () => {
        timer.cancel()
        resolve()
      })
    })
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#events.isClosed) this.#lines.push(chunk, this.#onLine, this.#onSkipped)
  }

  // Also what is no JSON at all: the client is told so.
  readonly #onLine = (line: Buffer): void => this.#events.listener?.message(line)

  readonly #onSkipped = (bytes: number, ends: Buffer): void => this.#events.listener?.skipped(bytes, ends)

  readonly #onDrain = (): void => {
    if (!this.#events.isClosed) this.#events.listener?.drained()
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

  /** The line that the end of the stream cut off; a client that we left is not asked for it. */
  #endLines(): void {
    if (this.#closing === undefined) this.#lines.end(this.#onLine, this.#onSkipped)
  }

  readonly #onInputError = (error: Error): void =>
    this.#settle(new Fault('disconnected', 'standard input failed', { cause: error }))

  readonly #onOutputError = (error: Error): void => {
    const left = 'code' in error && error.code === 'EPIPE'
    this.#settle(left ? undefined : new Fault('disconnected', 'standard output failed', { cause: error }))
  }

  #settle(fault: Fault | undefined): void {
    if (this.#events.isClosed) return
    this.#endLines()
    this.#input.off('data', this.#onData)
    // An open stdin that nobody reads would keep the process alive.
    this.#input.pause()
    this.#events.close(fault)
  }
}

/**
 * Our own stdin and stdout as a channel to the client that started us. Every line is a message, also one that
 * is no JSON. The end of stdin closes it, as the spec asks of a server (2025-11-25, lifecycle, "Shutdown").
 */
export const createStdioSelf = (options: SelfOptions = {}): Channel => new StdioSelf(options)

/**
 * Sends everything that is written with `console` to stderr, so that no dependency can write into the protocol;
 * for as long as the process lives.
 */
export function protectStdout(): void {
  // Each method is copied: a dependency may have kept the object, but hardly a single method of it.
  Object.assign(globalThis.console, new Console(process.stderr, process.stderr))
}
