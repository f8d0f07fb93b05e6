import type { Fault } from '../../src/kernel/faults.js'
import type { Logger } from '../../src/kernel/logger.js'
import type { ChannelListener } from '../../src/wire/channel.js'
import { until } from './processes.js'

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
