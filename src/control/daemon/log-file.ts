import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import type { LineSink } from '../../telemetry/logs/logger.js'

const MOST_BYTES = 8 * 1024 * 1024
/** The file and its two predecessors. */
const OLDER = ['.2', '.1', ''] as const

/** The daemon's log: a file and its predecessors with `.1` and `.2`. Never throws. */
export class LogFile implements LineSink {
  readonly #path: string
  readonly #mostBytes: number
  #fd: number | undefined
  #bytes = 0

  constructor(path: string, mostBytes = MOST_BYTES) {
    this.#path = path
    this.#mostBytes = mostBytes
    this.#open()
  }

  /** A full disk loses the line. */
  write(line: string): void {
    if (this.#bytes >= this.#mostBytes) this.#rotate()
    if (this.#fd === undefined) this.#open()
    try {
      if (this.#fd !== undefined) this.#bytes += writeSync(this.#fd, line)
    } catch {
      // There is no other place to report it.
    }
  }

  #open(): void {
    try {
      this.#fd = openSync(this.#path, 'a', 0o600)
      this.#bytes = fstatSync(this.#fd).size
    } catch {
      this.#fd = undefined
    }
  }

  #rotate(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    for (const [at, end] of OLDER.entries()) {
      const older = OLDER[at - 1]
      if (older === undefined) continue
      try {
        renameSync(`${this.#path}${end}`, `${this.#path}${older}`)
      } catch {
        // The file is missing or cannot be renamed.
      }
    }
    this.#bytes = 0
    this.#open()
  }
}
