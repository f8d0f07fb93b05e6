import type { Fault } from '../../../src/kernel/faults.js'
import type { Logger } from '../../../src/kernel/logger.js'
import type { Channel, ChannelListener } from '../../../src/wire/channel.js'
import { type OutgoingMessage, whole } from '../../../src/wire/message-parts.js'
import { until } from '../processes.js'

/** One end of an in-memory channel pair, which delivers messages at once. */
class PairedChannel implements Channel {
  other: PairedChannel | undefined
  /** Bytes that the peer has not read, set by a test; `isBehind` is the result of `send`. */
  queuedBytes = 0
  isBehind = false
  isPaused = false
  isClosed = false
  #listener: ChannelListener | undefined
  #held: Buffer[] = []

  listen(listener: ChannelListener): void {
    this.#listener = listener
    for (const message of this.#held.splice(0)) listener.message(message)
  }

  send(message: OutgoingMessage): boolean {
    if (this.isClosed) return false
    this.other?.hear(whole(message))
    return !this.isBehind
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  close(): Promise<void> {
    this.break(undefined)
    return Promise.resolve()
  }

  /** Closes both ends, with a fault for this end's listener. */
  break(fault: Fault | undefined): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#listener?.closed(fault)
    this.other?.break(undefined)
  }

  /** Simulates that the peer reads again. */
  drained(): void {
    this.#listener?.drained()
  }

  /** Simulates a message above the size limit. */
  skipped(bytes: number, ends?: Buffer): void {
    this.#listener?.skipped(bytes, ends)
  }

  /** Simulates an unfinished message that already exceeds the limit. */
  overrun(): void {
    this.#listener?.overrun?.()
  }

  /** Simulates the peer's half-close. */
  ended(): void {
    this.#listener?.ended?.()
  }

  hear(message: Buffer): void {
    if (this.#listener === undefined) this.#held.push(message)
    else if (!this.isClosed) this.#listener.message(message)
  }
}

/** The far end of a channel, played by a test: sends lines and records received ones. */
export class FarEnd {
  /** The end for the code under test. */
  readonly channel = new PairedChannel()
  /** Received lines. */
  readonly lines: string[] = []
  /** Called for each message, to play an answering peer. */
  onMessage: ((message: Heard) => void) | undefined
  readonly #end = new PairedChannel()

  constructor() {
    this.channel.other = this.#end
    this.#end.other = this.channel
    this.#end.listen({
      message: bytes => {
        this.lines.push(bytes.toString())
        this.onMessage?.(JSON.parse(bytes.toString()) as Heard)
      },
      skipped: () => undefined,
      drained: () => undefined,
      closed: () => undefined,
    })
  }

  get isClosed(): boolean {
    return this.#end.isClosed
  }

  /** Takes received messages as values. */
  take(): Heard[] {
    return this.lines.splice(0).map(line => JSON.parse(line) as Heard)
  }

  /** Sends a message: text unchanged, anything else as a JSON-RPC message. */
  say(message: string | object): void {
    this.#end.send(Buffer.from(typeof message === 'string' ? message : rpc(message)))
  }

  hangUp(): void {
    this.#end.break(undefined)
  }

  /** Half-closes: sends nothing more, but still receives. */
  ends(): void {
    this.channel.ended()
  }
}

/** Any JSON-RPC message, loosely typed for assertions. */
export interface Heard {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { code: number; message: string; data?: Record<string, unknown> }
}

/** Formats a JSON-RPC message. */
export const rpc = (message: object): string =>
  JSON.stringify(Array.isArray(message) ? message : { jsonrpc: '2.0', ...message })

/** A listener that records all events. */
export class Recorder implements ChannelListener {
  readonly messages: string[] = []
  readonly skips: number[] = []
  readonly ends: (Fault | undefined)[] = []
  drains = 0

  message(bytes: Buffer): void {
    this.messages.push(bytes.toString())
  }

  skipped(bytes: number): void {
    this.skips.push(bytes)
  }

  drained(): void {
    this.drains += 1
  }

  closed(fault: Fault | undefined): void {
    this.ends.push(fault)
  }

  async hasMessages(count: number): Promise<void> {
    await until(() => this.messages.length >= count, `${count} messages`)
  }

  async isClosed(): Promise<Fault | undefined> {
    await until(() => this.ends.length > 0, 'the end of the channel')
    return this.ends[0]
  }
}

/** A recorder for peers that may half-close. */
export class HalfOpenRecorder extends Recorder {
  halfEnds = 0

  ended(): void {
    this.halfEnds += 1
  }
}

/** A logger that records level, facts and message. */
export function recordedLog(): {
  readonly log: Logger
  readonly lines: (readonly [string, object, string])[]
} {
  const lines: (readonly [string, object, string])[] = []
  const at = (level: string) => (facts: object, words: string) => {
    lines.push([level, facts, words])
  }
  const log: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  }
  return { log, lines }
}
