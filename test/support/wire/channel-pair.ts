import type { Fault } from '../../../src/kernel/faults.js'
import type { Logger } from '../../../src/kernel/logger.js'
import type { Channel, ChannelListener } from '../../../src/wire/channel.js'
import { type OutgoingMessage, whole } from '../../../src/wire/message-parts.js'
import { until } from '../processes.js'

/** One end of a pair of channels in memory: what one end sends, the other hears at once. */
class PairedChannel implements Channel {
  other: PairedChannel | undefined
  /** Set by a test: how much the peer has not read, and what `send` says about it. */
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

  /** Ends both ends, with a fault for this one's listener. */
  break(fault: Fault | undefined): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#listener?.closed(fault)
    this.other?.break(undefined)
  }

  /** The peer reads again. */
  drained(): void {
    this.#listener?.drained()
  }

  /** A message was longer than the limit. */
  skipped(bytes: number, ends?: Buffer): void {
    this.#listener?.skipped(bytes, ends)
  }

  /** A message is longer than the limit already. */
  overrun(): void {
    this.#listener?.overrun?.()
  }

  /** The peer has said all. */
  ended(): void {
    this.#listener?.ended?.()
  }

  hear(message: Buffer): void {
    if (this.#listener === undefined) this.#held.push(message)
    else if (!this.isClosed) this.#listener.message(message)
  }
}

/** The far end of a channel, played by a test: says lines, remembers what it hears. */
export class FarEnd {
  /** The end to be handed to the code under test. */
  readonly channel = new PairedChannel()
  /** What was heard, as text. */
  readonly lines: string[] = []
  /** Called for each message; the way to play a peer that answers. */
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

  /** What was heard and not yet taken, as values. */
  take(): Heard[] {
    return this.lines.splice(0).map(line => JSON.parse(line) as Heard)
  }

  /** Sends a message: text as it is, anything else as a JSON-RPC message. */
  say(message: string | object): void {
    this.#end.send(Buffer.from(typeof message === 'string' ? message : rpc(message)))
  }

  hangUp(): void {
    this.#end.break(undefined)
  }

  /** Says nothing more, but still listens. */
  ends(): void {
    this.channel.ended()
  }
}

/** Any JSON-RPC message, loosely, for assertions. */
export interface Heard {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { code: number; message: string; data?: Record<string, unknown> }
}

/** A JSON-RPC message as text. */
export const rpc = (message: object): string =>
  JSON.stringify(Array.isArray(message) ? message : { jsonrpc: '2.0', ...message })

/** A listener that remembers everything it was told. */
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

/** The same, for a peer that may have said all and still listen. */
export class HalfOpenRecorder extends Recorder {
  halfEnds = 0

  ended(): void {
    this.halfEnds += 1
  }
}

/** A logger that remembers its lines: level, facts, words. */
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
