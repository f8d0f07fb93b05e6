import { fstatSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { pino } from 'pino'

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
export const createStderrSink = (stderr: Writable = process.stderr, isPipe = isStderrPipe()): LineSink => {
  if (isPipe) return new PipeSink(stderr)
  const file = pino.destination({ dest: STDERR, sync: true, maxLength: QUEUE_BYTES })
  file.on('error', nothing)
  return file
}

const nothing = (): void => undefined

const isStderrPipe = (): boolean => {
  try {
    const found = fstatSync(STDERR)
    return found.isFIFO() || found.isSocket()
  } catch {
    return false
  }
}

/** A pipe is written to by Node, which keeps what does not fit into it. */
class PipeSink implements LineSink {
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
