import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from '../kernel/logger.js'
import { appendPrivateSync, readPrivate, replacePrivateSync, sizeOf } from './private-file.js'

const FILE = 'ended-sessions'
/** Maximum sessions in the list. The oldest are dropped first. */
const ENDED_MAX = 10_000
const NAME_CHARS = 22
/** Twice the list, because dropped and expired lines stay in the file for a while. */
const FILE_BYTES = 2 * ENDED_MAX * (NAME_CHARS + 12)

interface EndedSessionsOptions {
  /** The state folder. */
  readonly dir: string
  /** The wall clock. */
  readonly nowMs: () => number
  readonly log: Logger
}

/**
 * The sessions that ended for good although their ids have not expired, in a file that all proxies of the
 * user share. A line has the time in seconds at which the id expires, and a hash of the id.
 */
export class EndedSessions {
  readonly #file: string
  readonly #nowMs: () => number
  readonly #log: Logger
  readonly #untilS = new Map<string, number>()
  /** The size of the file when it was read, or after our last line. */
  #readBytes = 0
  #isWarned = false

  constructor({ dir, nowMs, log }: EndedSessionsOptions) {
    this.#file = join(dir, FILE)
    this.#nowMs = nowMs
    this.#log = log
  }

  has(id: string): boolean {
    this.#read()
    return this.#untilS.has(nameOf(id))
  }

  add(id: string, untilMs: number): void {
    this.#read()
    const [name, untilS] = [nameOf(id), Math.ceil(untilMs / 1000)]
    if (this.#untilS.has(name)) return
    this.#keep(name, untilS)
    try {
      const line = `${untilS} ${name}\n`
      if (this.#readBytes + line.length > FILE_BYTES) this.#compact()
      else {
        appendPrivateSync(this.#file, line)
        this.#readBytes += line.length
      }
    } catch (thrown) {
      this.#warn(thrown)
    }
  }

  /** Reads the file if another proxy has written to it. */
  #read(): void {
    const bytes = sizeOf(this.#file)
    if (bytes === this.#readBytes) return
    this.#readBytes = bytes
    const nowS = this.#nowMs() / 1000
    const lines =
      readPrivate(this.#file, 2 * FILE_BYTES)
        ?.toString('latin1')
        .split('\n') ?? []
    for (const line of lines) {
      const [untilS = '', name = ''] = line.split(' ', 2)
      if (name.length === NAME_CHARS && Number(untilS) > nowS) this.#keep(name, Number(untilS))
    }
  }

  #keep(name: string, untilS: number): void {
    this.#untilS.set(name, untilS)
    const [oldest] = this.#untilS.keys()
    if (this.#untilS.size > ENDED_MAX && oldest !== undefined) this.#untilS.delete(oldest)
  }

  #compact(): void {
    const nowS = this.#nowMs() / 1000
    for (const [name, untilS] of this.#untilS) if (untilS <= nowS) this.#untilS.delete(name)
    const text = [...this.#untilS].map(([name, untilS]) => `${untilS} ${name}\n`).join('')
    replacePrivateSync(this.#file, text)
    this.#readBytes = text.length
  }

  #warn(thrown: unknown): void {
    if (this.#isWarned) return
    this.#isWarned = true
    this.#log.warn(
      { err: thrown, file: this.#file },
      'cannot record an ended session: its client could continue it after a restart',
    )
  }
}

const nameOf = (id: string): string => hash('sha256', id, 'base64url').slice(0, NAME_CHARS)
