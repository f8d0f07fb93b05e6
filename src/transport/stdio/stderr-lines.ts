import type { Clock, Timer } from '../../kernel/async/clock.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { KeyLines, MASK, mask } from '../../kernel/mask.js'
import { cutText, drawnLine } from '../../kernel/plain-text.js'

/** Bounds on what a child's stderr may cost us; all of it is read, in any case. */
const STDERR_LIMITS = {
  /** The rest of a longer line is thrown away. */
  lineBytes: 8 * 1024,
  /** Read of it: the end of a line that is not whole may be half a secret, and is left out. */
  readBytes: 9 * 1024,
  /** What is kept for error reports: the last lines, by number and by size. */
  keptLines: 20,
  keptBytes: 64 * 1024,
} as const

const NEWLINE = 0x0a
const SECOND_MS = 1000

/** What an error may hold of it; what it was cut from is in the log. */
const TOLD = { lines: 20, bytes: 4 * 1024, lineBytes: 1024 } as const

/** The last of these lines, as many as fit into an error report; long ones are cut. Oldest first. */
export const lastLines = (lines: readonly string[]): string[] => {
  const told: string[] = []
  let bytes = 0
  for (const line of lines.slice(-TOLD.lines).reverse()) {
    const short = cutText(line, TOLD.lineBytes)
    bytes += Buffer.byteLength(short)
    if (bytes > TOLD.bytes) break
    told.unshift(short)
  }
  return told
}

/** A line as it came: most are never looked at again, and are not made fit to be. */
interface Line {
  readonly bytes: Buffer
  readonly isInKey: boolean
}

/** Such a line as it may be read. */
const shown = ({ bytes, isInKey }: Line): string => {
  if (isInKey) return MASK
  const isWhole = bytes.length < STDERR_LIMITS.readBytes
  return cutText(mask(drawnLine(bytes.toString()), isWhole), STDERR_LIMITS.lineBytes, isWhole)
}

/** Turns what a child writes to stderr into log lines without secrets, and keeps the last of them. */
export class StderrLines {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly #keys = new KeyLines()
  #partial: Buffer[] = []
  #partialBytes = 0
  #kept: Line[] = []
  #keptBytes = 0
  #secondStartedMs = -Infinity
  #loggedThisSecond = 0
  #dropped = 0
  #report: Timer | undefined

  constructor(log: Logger, clock: Clock, bounds = new LimitCounters()) {
    this.#log = log
    this.#bounds = bounds
    this.#clock = clock
  }

  push(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from)
      if (end < 0) break
      this.#keepPartial(chunk.subarray(from, end))
      this.#endLine()
      from = end + 1
    }
    this.#keepPartial(chunk.subarray(from))
  }

  /** The child is gone: an unfinished line counts as a line. */
  end(): void {
    this.#endLine()
    this.#reportDropped()
  }

  /** The last lines, oldest first, with the one that is being written; for error reports. */
  last(): string[] {
    const unfinished = { bytes: Buffer.concat(this.#partial), isInKey: this.#keys.isInside }
    return [...this.#kept, ...(this.#partialBytes > 0 ? [unfinished] : [])].map(shown).filter(isSeen)
  }

  #keepPartial(piece: Buffer): void {
    if (piece.length === 0) return
    const room = STDERR_LIMITS.readBytes - this.#partialBytes
    if (room <= 0) return
    // A copy: a view of a few bytes would hold the whole chunk until the line ends.
    const taken = Buffer.from(piece.subarray(0, room))
    this.#partial.push(taken)
    this.#partialBytes += taken.length
  }

  #endLine(): void {
    const [first] = this.#partial
    if (first === undefined) return
    const bytes = this.#partial.length === 1 ? first : Buffer.concat(this.#partial)
    this.#partial = []
    this.#partialBytes = 0
    const line = { bytes, isInKey: this.#keys.take(bytes) }
    if (isBlank(bytes)) return
    this.#keep(line)
    this.#write(line)
  }

  #keep(line: Line): void {
    this.#kept.push(line)
    this.#keptBytes += line.bytes.length
    while (this.#kept.length > STDERR_LIMITS.keptLines || this.#keptBytes > STDERR_LIMITS.keptBytes) {
      this.#keptBytes -= this.#kept.shift()?.bytes.length ?? 0
    }
  }

  #write(line: Line): void {
    const nowMs = this.#clock.nowMs()
    if (nowMs - this.#secondStartedMs >= SECOND_MS) {
      this.#reportDropped()
      this.#secondStartedMs = nowMs
      this.#loggedThisSecond = 0
    }
    if (this.#loggedThisSecond < this.#bounds.max.logLines) {
      this.#loggedThisSecond += 1
      const stderr = shown(line)
      if (isSeen(stderr)) this.#log.info({ stderr }, 'server wrote to stderr')
      return
    }
    this.#dropped += 1
    if (this.#dropped === 1) this.#bounds.hit('logLines')
    const restMs = this.#secondStartedMs + SECOND_MS - nowMs
    this.#report ??= this.#clock.after(restMs, () => this.#reportDropped())
  }

  #reportDropped(): void {
    this.#report?.cancel()
    this.#report = undefined
    if (this.#dropped === 0) return
    this.#log.warn({ dropped: this.#dropped }, 'server wrote more to stderr than is logged')
    this.#dropped = 0
  }
}

const isSeen = (text: string): boolean => text.trim() !== ''

/** Whether a line has nothing but blanks, which is most often none at all. */
const isBlank = (bytes: Buffer): boolean =>
  bytes.every(byte => byte === 0x20 || byte === 0x09 || byte === 0x0d)
