import type { Writable } from 'node:stream'
import { pino } from 'pino'
import type { LogLevel } from '../../config/types.js'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { unblock } from '../../transport/node-internals.js'
import { type AdjustableLogger, GuardedLogger, LineRateLimiter } from './guarded-logger.js'

/** Creates a logger that writes to stderr: JSON lines, or plain ones on a terminal. */
export const createLogger = async (options: {
  readonly level: LogLevel
  readonly isTerminal: boolean
  readonly clock?: Clock
  /** Where lines go in place of stderr. */
  readonly sink?: LineSink | undefined
  /** What keeps the lines that pass. */
  readonly keep?: (sink: LineSink) => LineSink
}): Promise<AdjustableLogger> => {
  const { level, isTerminal, clock = systemClock, keep } = options
  const sink = options.sink ?? (isTerminal ? await sinkForPeople() : createStderrSink())
  const guard = { level, rate: new LineRateLimiter(clock) }
  if (keep === undefined) return new GuardedLogger(pino(SETTINGS, sink), guard)
  return new GuardedLogger(pino(SETTINGS, keep(sink)), guard, { quiet: pino(SETTINGS, keep(NOWHERE)) })
}

/** GuardedLogger checks the level, which a child of pino could not change, and writes errors. */
const SETTINGS = { level: 'debug', base: null, serializers: { err: (facts: unknown) => facts } }

const sinkForPeople = async (): Promise<LineSink> => {
  const { prettyFactory } = await import('pino-pretty')
  const sink = createStderrSink()
  const pretty = prettyFactory({ translateTime: 'SYS:HH:MM:ss' })
  return { write: line => sink.write(pretty(line)) }
}

const NOWHERE = { write: (): void => undefined }

/** Takes whole lines, each with its line feed. */
export interface LineSink {
  write(line: string): void
}

/** The most that waits for a slow reader or a full disk; further lines are dropped, and counted. */
const QUEUE_BYTES = 1024 * 1024
const STDERR = 2

/** Creates a sink for stderr that never blocks or grows: many hosts do not read it. Never throws. */
export const createStderrSink = (
  stderr: Writable = process.stderr,
  isUnblocked = unblock(stderr),
): LineSink => {
  if (isUnblocked) return new QueueSink(stderr)
  // A file, which has no reader to wait for, or the console of Windows, which blocks while text in it is
  // selected.
  const file = pino.destination({ dest: STDERR, sync: !process.stderr.isTTY, maxLength: QUEUE_BYTES })
  file.on('error', nothing)
  return file
}

const nothing = (): void => undefined

/** A stream of Node, which queues what its reader does not take. */
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
      this.#stderr.write(`${JSON.stringify({ ...facts, msg: 'dropped lines: nobody read stderr' })}\n`)
    }
    this.#stderr.write(line)
  }
}
