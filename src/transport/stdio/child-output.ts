import type { Clock, Timer } from '../../kernel/async/clock.js'
import { isTelling } from '../../kernel/error-lines.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { KeyLines, MASK, mask, sanitizeLine } from '../../kernel/secrets/mask.js'
import { cutText, drawnLine } from '../../kernel/secrets/plain-text.js'
import type { ChannelListener } from '../../wire/channel.js'
import type { FramingOptions } from '../../wire/framing/byte-rope.js'
import { LineSplitter } from '../../wire/framing/ndjson.js'

const NEWLINE = 0x0a
const SPACE = 0x20
const TAB = 0x09
const CR = 0x0d

const NOISE_READ_BYTES = 4096
const NOISE_SHOWN_BYTES = 256

/** Reports whether a line begins with a bracket, as JSON-RPC does, unlike most banners. */
function mayBeMessage(line: Buffer): boolean {
  // Some programs write a byte order mark at the start of each line.
  const isMarked = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf
  let at = isMarked ? 3 : 0
  while (line[at] === SPACE || line[at] === TAB) at += 1
  return line[at] === 0x7b || line[at] === 0x5b
}

/** Extracts messages from a child's stdout; counts all other lines and logs the first. */
export class StdoutMessages {
  readonly #lines: LineSplitter
  readonly #log: Logger
  readonly #onNoise: () => void
  #noiseLines = 0
  /** Receives the messages of the current chunk. */
  #listener: ChannelListener | undefined

  constructor(log: Logger, options: FramingOptions, onNoise: () => void = () => undefined) {
    this.#onNoise = onNoise
    this.#lines = new LineSplitter(options)
    this.#log = log
  }

  push(chunk: Buffer, listener: ChannelListener): void {
    this.#listener = listener
    this.#lines.push(chunk, this.#onLine, this.#onSkipped)
  }

  /** Ends the output; text without a newline counts as a line. */
  end(listener: ChannelListener | undefined): void {
    this.#listener = listener
    if (listener !== undefined) this.#lines.end(this.#onLine, this.#onSkipped)
    this.#lines.drop()
    if (this.#noiseLines > 0)
      this.#log.debug({ lines: this.#noiseLines }, "ignored non-JSON-RPC output on the server's stdout")
  }

  readonly #onSkipped = (bytes: number, ends: Buffer): void => this.#listener?.skipped(bytes, ends)

  readonly #onLine = (line: Buffer): void => {
    if (mayBeMessage(line)) {
      this.#listener?.message(line)
      return
    }
    this.#noiseLines += 1
    this.#onNoise()
    if (this.#noiseLines > 1) return
    const shown = sanitizeLine(line.subarray(0, NOISE_READ_BYTES).toString(), NOISE_SHOWN_BYTES)
    this.#log.warn({ line: shown, doctor: 'D034' }, "ignoring non-JSON-RPC output on the server's stdout")
  }
}

/** Limits for stored stderr output; all of it is read. */
const STDERR_LIMITS = {
  /** The rest of a longer line is dropped. */
  lineBytes: 8 * 1024,
  /** Read before masking: the end of a cut line may be part of a secret, and is dropped. */
  readBytes: 9 * 1024,
  /** Kept for error reports. */
  keptLines: 20,
  keptBytes: 64 * 1024,
} as const

const SECOND_MS = 1000

/** Limits for error reports; the log has all lines. */
const REPORTED = { lines: 20, bytes: 4 * 1024, lineBytes: 1024 } as const

/** Returns the last lines for an error report, oldest first, each truncated. */
export const lastLines = (lines: readonly string[]): string[] => {
  const reported: string[] = []
  let bytes = 0
  for (const line of lines.slice(-REPORTED.lines).reverse()) {
    const short = cutText(line, REPORTED.lineBytes)
    bytes += Buffer.byteLength(short)
    if (bytes > REPORTED.bytes) break
    reported.unshift(short)
  }
  const error = lines.findLast(isTelling)
  if (error === undefined || lines.slice(-reported.length).some(isTelling)) return reported
  return [cutText(error, REPORTED.lineBytes), ...reported.slice(1)]
}

/** A raw line; formatted on demand, because most lines are never shown. */
interface Line {
  readonly bytes: Buffer
  readonly isInKey: boolean
  /** Undefined until the line is the oldest. */
  isTelling?: boolean
}

/** Kept lines that name an error, however many follow: a stack may be longer than the lines kept. */
const TELLING_MAX = 4
const TELLING_BYTES = 512

const isTellingLine = (line: Line): boolean => {
  line.isTelling ??= !line.isInKey && isTelling(line.bytes.toString('utf8', 0, TELLING_BYTES))
  return line.isTelling
}

const readable = ({ bytes, isInKey }: Line): string => {
  if (isInKey) return MASK
  const isWhole = bytes.length < STDERR_LIMITS.readBytes
  return cutText(mask(drawnLine(bytes.toString()), isWhole), STDERR_LIMITS.lineBytes, isWhole)
}

/** Logs a child's stderr without secrets, and keeps its last lines. */
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

  constructor(log: Logger, clock: Clock, bounds: LimitCounters) {
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

  /** Ends the output; text without a newline counts as a line. */
  end(): void {
    this.#endLine()
    this.#reportDropped()
  }

  /** Returns the last lines, oldest first, including an unfinished one, for error reports. */
  last(): string[] {
    const unfinished = { bytes: Buffer.concat(this.#partial), isInKey: this.#keys.isInside }
    return [...this.#kept, ...(this.#partialBytes > 0 ? [unfinished] : [])].map(readable).filter(isSeen)
  }

  #keepPartial(piece: Buffer): void {
    if (piece.length === 0) return
    const room = STDERR_LIMITS.readBytes - this.#partialBytes
    if (room <= 0) return
    // Copies, because a view would keep the whole chunk in memory.
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
      const least = this.#kept.findIndex((each, index) => !isTellingLine(each) || index === TELLING_MAX)
      // Of too many lines about errors, the first is the least likely cause of an exit.
      const line = this.#kept[least]
      const isError = line === undefined || isTellingLine(line)
      const [dropped] = this.#kept.splice(isError ? 0 : least, 1)
      this.#keptBytes -= dropped?.bytes.length ?? 0
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
      const stderr = readable(line)
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
    this.#log.warn({ dropped: this.#dropped }, 'dropped stderr output of the server')
    this.#dropped = 0
  }
}

const isSeen = (text: string): boolean => text.trim() !== ''

const isBlank = (bytes: Buffer): boolean => bytes.every(byte => byte === SPACE || byte === TAB || byte === CR)
