import type { Writable } from 'node:stream'
import { pino } from 'pino'
import { unblock } from './unblock.js'

/** Takes whole lines, each with its end, for whoever reads our stderr. */
export interface LineSink {
  write(line: string): void
}

/** What may wait for a reader that is slow, or a disk that is full; further lines are dropped, and counted. */
const QUEUE_BYTES = 1024 * 1024
const STDERR = 2

/**
 * Our stderr, as a sink that never blocks and never grows: many hosts start us with a pipe that they do not read, and a write that
 * waits for them would stop every call. Never throws.
 */
export const createStderrSink = (
  stderr: Writable = process.stderr,
  isUnblocked = unblock(stderr),
): LineSink => {
  if (isUnblocked) return new QueueSink(stderr)
  // A file, which has no reader to wait for; or the console of Windows, which makes everybody wait while somebody selects text in it.
  const file = pino.destination({ dest: STDERR, sync: !process.stderr.isTTY, maxLength: QUEUE_BYTES })
  file.on('error', nothing)
  return file
}

const nothing = (): void => undefined

/** Written to by Node, which keeps what the reader does not take yet. */
class QueueSink implements LineSink {
  readonly #stderr: Writable
  #dropped = 0

  constructor(stderr: Writable) {
    this.#stderr = stderr
    // Several sinks share it, and its other users.
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
      this.#stderr.write(`${JSON.stringify({ ...facts, msg: 'lines were dropped: nobody read stderr' })}\n`)
    }
    this.#stderr.write(line)
  }
}
