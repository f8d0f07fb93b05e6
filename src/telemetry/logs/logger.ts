import type { Writable } from 'node:stream'
import { pino } from 'pino'
import type { LogLevel } from '../../config/types.js'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { nothing } from '../../kernel/nothing.js'
import { unblock } from '../../transport/node-internals.js'
import { type AdjustableLogger, GuardedLogger, LineRateLimiter } from './guarded-logger.js'

/** Creates a logger on stderr that writes JSON lines, or plain lines on a terminal. */
export const createLogger = async (options: {
  readonly level: LogLevel
  readonly isTerminal: boolean
  readonly clock?: Clock
  /** Replaces stderr. */
  readonly sink?: LineSink | undefined
  /** Wraps the sink to keep its lines. */
  readonly keep?: (sink: LineSink) => LineSink
}): Promise<AdjustableLogger> => {
  const { level, isTerminal, clock = systemClock, keep } = options
  const sink = options.sink ?? (isTerminal ? await sinkForPeople() : createStderrSink())
  const guard = { level, rate: new LineRateLimiter(clock) }
  if (keep === undefined) return new GuardedLogger(pino(SETTINGS, sink), guard)
  return new GuardedLogger(pino(SETTINGS, keep(sink)), guard, { quiet: pino(SETTINGS, keep(NOWHERE)) })
}

/** GuardedLogger checks the level, which a pino child could not change, and formats errors. */
const SETTINGS = { level: 'debug', base: null, serializers: { err: (facts: unknown) => facts } }

const sinkForPeople = async (): Promise<LineSink> => {
  const { prettyFactory } = await import('pino-pretty')
  const sink = createStderrSink()
  const pretty = prettyFactory({ translateTime: 'SYS:HH:MM:ss' })
  return { write: line => sink.write(pretty(line)) }
}

const NOWHERE = { write: (): void => undefined }

/** Receives whole lines, including their line feed. */
export interface LineSink {
  write(line: string): void
}

/** Maximum bytes queued for a slow reader or a full disk. Further lines are dropped and counted. */
const QUEUE_BYTES = 1024 * 1024
const STDERR = 2

/** Creates a sink for stderr that never blocks or grows: many hosts do not read it. Never throws. */
export const createStderrSink = (
  stderr: Writable = process.stderr,
  isUnblocked = unblock(stderr),
): LineSink => {
  if (isUnblocked) return new QueueSink(stderr)
  // A file has no slow reader. The Windows console blocks while text in it is selected.
  const file = pino.destination({ dest: STDERR, sync: !process.stderr.isTTY, maxLength: QUEUE_BYTES })
  file.on('error', nothing)
  return file
}

/** Writes to a Node stream, which queues unread output. */
class QueueSink implements LineSink {
  readonly #stderr: Writable
  #dropped = 0

  constructor(stderr: Writable) {
    this.#stderr = stderr
    // Several sinks share the stream.
    stderr.off('error', nothing).on('error', nothing)
  }

  write(line: string): void {
    if (this.#stderr.writableLength > QUEUE_BYTES) {
      this.#dropped += 1
      return
    }
    if (this.#dropped > 0) {
      const facts = { level: 40, time: Date.now(), dropped: this.#dropped }
      this.#dropped = 0
      this.#stderr.write(
        `${JSON.stringify({ ...facts, msg: 'dropped log lines: stderr is not being read' })}\n`,
      )
    }
    this.#stderr.write(line)
  }
}
