import { NO_BYTES } from '../../kernel/nothing.js'
import { END_BYTES } from '../salvage-id.js'
import { BomFilter } from './bom.js'
import { ByteRope, type FramingOptions } from './byte-rope.js'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const TAB = 0x09

/**
 * Receives each line without its line end. The listener owns the bytes, which may be a slice of the chunk.
 */
export type OnLine = (line: Buffer) => void

/** Receives the size of a discarded line above the limit, and its two ends in one piece. */
export type OnSkipped = (bytes: number, ends: Buffer) => void

/**
 * Splits a stream of bytes into lines, the framing of stdio (spec 2025-11-25, transports, "stdio"). A line
 * ends at LF only; one CR before it, blank lines and a byte order mark are dropped. A line over `maxBytes`
 * (CR not counted) is skipped and reported once. Callbacks must not throw.
 */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #onOverrun: (() => void) | undefined
  /** Undefined after the start of the stream. */
  #bom: BomFilter | undefined = new BomFilter()
  readonly #held: ByteRope
  #discardedBytes = 0
  #head: Buffer = NO_BYTES
  #tail: Buffer = NO_BYTES

  constructor({ maxBytes, account, onOverrun }: FramingOptions) {
    this.#maxBytes = maxBytes
    this.#onOverrun = onOverrun
    this.#held = new ByteRope(account?.open(() => this.#discard()))
  }

  /** Takes the next bytes of the stream, which must not be modified afterwards. */
  push(chunk: Buffer, onLine: OnLine, onSkipped: OnSkipped): void {
    let bytes = chunk
    if (this.#bom !== undefined) {
      bytes = this.#bom.pass(chunk)
      if (this.#bom.isOver) this.#bom = undefined
    }
    let from = 0
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, from)) {
      const piece = bytes.subarray(from, end)
      // A line within one chunk, the usual case, needs no buffering.
      const isWhole = this.#held.size === 0 && this.#discardedBytes === 0
      if (isWhole && piece.length <= this.#maxBytes) this.#emitLine(piece, onLine, onSkipped)
      else {
        this.#hold(piece)
        this.#finish(onLine, onSkipped)
      }
      from = end + 1
    }
    if (from < bytes.length) this.#hold(bytes.subarray(from))
  }

  /** Ends the stream: the rest after the last LF counts as a line. */
  end(onLine: OnLine, onSkipped: OnSkipped): void {
    if (this.#bom !== undefined) this.#hold(this.#bom.end())
    this.#finish(onLine, onSkipped)
  }

  /** Discards an incomplete line, when no more input will come. */
  drop(): void {
    this.#held.clear()
  }

  #hold(bytes: Buffer): void {
    if (this.#discardedBytes > 0) this.#discardedBytes += bytes.length
    else {
      this.#held.add(bytes)
      // One extra byte is kept: it may be the CR of a line that just fits.
      if (this.#held.size > this.#maxBytes + 1) this.#discard()
    }
    if (this.#discardedBytes > 0) {
      this.#tail = Buffer.concat([this.#tail, bytes.subarray(-END_BYTES)]).subarray(-END_BYTES)
    }
  }

  #discard(): void {
    this.#head = this.#held.first(END_BYTES)
    this.#discardedBytes = this.#held.size
    this.#held.clear()
    this.#onOverrun?.()
  }

  #finish(onLine: OnLine, onSkipped: OnSkipped): void {
    const discardedBytes = this.#discardedBytes
    this.#discardedBytes = 0
    if (discardedBytes > 0) {
      onSkipped(discardedBytes, Buffer.concat([this.#head, this.#tail]))
      this.#head = NO_BYTES
      this.#tail = NO_BYTES
      return
    }
    this.#emitLine(this.#held.take(), onLine, onSkipped)
  }

  #emitLine(raw: Buffer, onLine: OnLine, onSkipped: OnSkipped): void {
    const line = raw[raw.length - 1] === CR ? raw.subarray(0, -1) : raw
    if (line.length > this.#maxBytes) onSkipped(raw.length, line)
    else if (!isBlank(line)) onLine(line)
  }
}

function isBlank(line: Buffer): boolean {
  for (let i = 0; i < line.length; i++) {
    const byte = line[i]
    if (byte !== SPACE && byte !== TAB && byte !== CR) return false
  }
  return true
}
