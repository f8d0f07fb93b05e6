import { isWritten } from '../../kernel/json/cursor.js'
import { BomFilter } from './bom.js'
import { ByteRope, type FramingOptions } from './byte-rope.js'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
const NUL = 0x00
const LONGEST_FIELD_NAME = 'event'.length
/** Longer than any event name in use. */
const NAME_BYTES = 64
/** An id is sent back in a header; a longer one cannot be resumed from. */
const ID_BYTES = 4096

const nearest = (one: number, other: number): number =>
  one === -1 || other === -1 ? Math.max(one, other) : Math.min(one, other)

/** Decodes a field name without allocating for the usual `data`. */
const fieldName = (bytes: Buffer, from: number, end: number): string =>
  isWritten(bytes, from, end, 'data') ? 'data' : bytes.toString('latin1', from, end)

/**
 * One event. Events with empty data are reported too: they only set the id (spec 2025-11-25, transports,
 * "Sending Messages to the Server", item 6).
 */
export interface SseEvent {
  /** `message` if the stream named none. */
  readonly event: string
  /** The listener owns the bytes, which may share memory with the chunk. */
  readonly data: Buffer
  /** The `id` field of this event; `SseReader.lastEventId` is the one to resume from. */
  readonly id: string | undefined
}

/** Receives the events of an `SseReader`; must not throw. */
export interface SseHandlers {
  onEvent(event: SseEvent): void
  /** An event longer than the limit was discarded; reported at its end. */
  onSkipped(bytes: number): void
}

/**
 * Reads server-sent events (WHATWG HTML §9.2.6) from bytes in any chunking. An event with more than
 * `maxBytes` of lines (without line ends and comments) is skipped and reported once. An event cut off by the
 * end of the stream is never reported, so there is no `end`.
 */
export class SseReader {
  readonly #maxBytes: number
  readonly #onOverrun: (() => void) | undefined
  readonly #bom = new BomFilter()
  /** The last chunk ended with CR: an LF at the start of the next belongs to the same line end. */
  #afterCr = false

  readonly #line: ByteRope
  #lineBytes = 0
  #isComment = false

  readonly #data: ByteRope
  #hasData = false
  #event = ''
  #id: string | undefined
  #eventBytes = 0
  #isTooLong = false

  #lastEventId = ''
  #retryMs: number | undefined

  constructor({ maxBytes, account, onOverrun }: FramingOptions) {
    this.#maxBytes = maxBytes
    this.#onOverrun = onOverrun
    this.#line = new ByteRope(account?.open(() => this.#discard()))
    this.#data = new ByteRope(account?.open(() => this.#discard()))
  }

  /** The `Last-Event-ID` to resume from; undefined if the stream gave none, or reset it. */
  get lastEventId(): string | undefined {
    return this.#lastEventId === '' ? undefined : this.#lastEventId
  }

  /** The server's reconnection delay in ms; undefined if it sent none. */
  get retryMs(): number | undefined {
    return this.#retryMs
  }

  /** The bytes received of an overlong event that has not ended; 0 if there is none. */
  get overrunBytes(): number {
    return this.#isTooLong ? this.#eventBytes + this.#lineBytes : 0
  }

  /** Discards an incomplete event, when no more input will come. */
  drop(): void {
    this.#line.clear()
    this.#data.clear()
  }

  /** Takes the next bytes of the stream, which must not be modified afterwards. */
  push(chunk: Buffer, handlers: SseHandlers): void {
    const bytes = this.#bom.pass(chunk)
    if (bytes.length === 0) return
    let from = this.#afterCr && bytes[0] === LF ? 1 : 0
    this.#afterCr = false
    // Each position is searched again only after it was passed, so that the chunk is searched once.
    let lf = bytes.indexOf(LF, from)
    let cr = bytes.indexOf(CR, from)
    for (let end = nearest(lf, cr); end !== -1; end = nearest(lf, cr)) {
      if (this.#lineBytes === 0) this.#wholeLine(bytes, from, end, handlers)
      else {
        this.#hold(bytes.subarray(from, end))
        this.#endLine(handlers)
      }
      from = end + 1
      if (end === cr) {
        this.#afterCr = from === bytes.length
        if (from === lf) from += 1
        cr = bytes.indexOf(CR, from)
      }
      if (lf !== -1 && lf < from) lf = bytes.indexOf(LF, from)
    }
    this.#hold(bytes.subarray(from))
  }

  /** Handles a line within one chunk, the usual case, without buffering. */
  #wholeLine(bytes: Buffer, from: number, end: number, handlers: SseHandlers): void {
    if (end === from) this.#endEvent(handlers)
    else if (bytes[from] !== COLON) {
      this.#eventBytes += end - from
      if (this.#eventBytes > this.#maxBytes) this.#discard()
      if (!this.#isTooLong) this.#readField(bytes, from, end)
    }
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (this.#lineBytes === 0) this.#isComment = bytes[0] === COLON
    this.#lineBytes += bytes.length
    if (this.#isComment || this.#isTooLong) return
    if (this.#eventBytes + this.#lineBytes > this.#maxBytes) this.#discard()
    else this.#line.add(bytes)
  }

  #discard(): void {
    if (this.#isTooLong) return
    this.#isTooLong = true
    this.#line.clear()
    this.#data.clear()
    this.#onOverrun?.()
  }

  #endLine(handlers: SseHandlers): void {
    const lineBytes = this.#lineBytes
    this.#lineBytes = 0
    if (lineBytes === 0) {
      this.#endEvent(handlers)
    } else if (!this.#isComment) {
      this.#eventBytes += lineBytes
      if (!this.#isTooLong) {
        const line = this.#line.take()
        this.#readField(line, 0, line.length)
      }
    }
  }

  #readField(bytes: Buffer, from: number, end: number): void {
    let nameEnd = from
    while (nameEnd < end && bytes[nameEnd] !== COLON) {
      if (nameEnd - from === LONGEST_FIELD_NAME) return
      nameEnd += 1
    }
    const valueAt = bytes[nameEnd + 1] === SPACE ? nameEnd + 2 : nameEnd + 1
    const value = bytes.subarray(Math.min(valueAt, end), end)
    switch (fieldName(bytes, from, nameEnd)) {
      case 'data':
        if (this.#hasData) this.#data.add(Buffer.from('\n'))
        this.#data.add(value)
        this.#hasData = true
        break
      case 'event':
        this.#event = value.toString('utf8', 0, NAME_BYTES)
        break
      case 'id':
        if (!value.includes(NUL)) this.#id = value.length > ID_BYTES ? '' : value.toString()
        break
      case 'retry':
        this.#readRetry(value.toString('latin1'))
        break
    }
  }

  #readRetry(digits: string): void {
    const ms = /^\d+$/.test(digits) ? Number(digits) : NaN
    if (Number.isSafeInteger(ms)) this.#retryMs = ms
  }

  #endEvent(handlers: SseHandlers): void {
    const id = this.#id
    const skippedBytes = this.#isTooLong ? this.#eventBytes : 0
    const event = this.#event === '' ? 'message' : this.#event
    const complete = this.#hasData ? { event, data: this.#data.take(), id } : undefined
    this.#hasData = false
    this.#event = ''
    this.#id = undefined
    this.#eventBytes = 0
    this.#isTooLong = false
    if (id !== undefined) this.#lastEventId = id
    if (skippedBytes > 0) handlers.onSkipped(skippedBytes)
    else if (complete !== undefined) handlers.onEvent(complete)
  }
}
