import { isWritten } from '../../kernel/json/cursor.js'
import { BomFilter } from './bom.js'
import { ByteRope, type FramingOptions } from './byte-rope.js'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
const NUL = 0x00
const LONGEST_FIELD_NAME = 'event'.length
/** No event that we know has a longer name. */
const NAME_BYTES = 64
/** It goes back in a header; of what is longer nothing can be asked for again. */
const ID_BYTES = 4096

const nearest = (one: number, other: number): number =>
  one === -1 || other === -1 ? Math.max(one, other) : Math.min(one, other)

/** The name of a field; nearly all are `data`, for which no text need be made. */
const fieldName = (bytes: Buffer, from: number, end: number): string =>
  isWritten(bytes, from, end, 'data') ? 'data' : bytes.toString('latin1', from, end)

/**
 * One event. Empty data is reported too: such an event only teaches its id (spec 2025-11-25, transports,
 * "Sending Messages to the Server", item 6).
 */
export interface SseEvent {
  /** `message` when the stream named none. */
  readonly event: string
  /** The bytes belong to the listener and may share memory with the chunk. */
  readonly data: Buffer
  /** The `id` field of this very event; see `SseReader.lastEventId` for the one to resume from. */
  readonly id: string | undefined
}

/** What an `SseReader` tells; must not throw. */
export interface SseHandlers {
  onEvent(event: SseEvent): void
  /** An event was longer than the limit and was thrown away; told where it ends. */
  onSkipped(bytes: number): void
}

/**
 * Reads server-sent events (WHATWG HTML §9.2.6) from bytes cut anywhere. An event with more than `maxBytes`
 * of lines (without line ends and comments) is skipped and reported once. One that the end of the stream cuts
 * off is never reported, so there is no `end`.
 */
export class SseReader {
  readonly #maxBytes: number
  readonly #onOverrun: (() => void) | undefined
  readonly #bom = new BomFilter()
  /** The last chunk ended with CR: an LF at the start of the next one belongs to that line end. */
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
    this.#line = new ByteRope(account?.open(() => this.#throwAway()))
    this.#data = new ByteRope(account?.open(() => this.#throwAway()))
  }

  /** What to send as `Last-Event-ID` to resume; undefined when the stream gave no id, or took it back. */
  get lastEventId(): string | undefined {
    return this.#lastEventId === '' ? undefined : this.#lastEventId
  }

  /** How long the server wants us to wait before we reconnect, in ms; undefined when it did not say. */
  get retryMs(): number | undefined {
    return this.#retryMs
  }

  /** How much of an event has come that is too long and not over yet; 0 if there is none. */
  get overrunBytes(): number {
    return this.#isTooLong ? this.#eventBytes + this.#lineBytes : 0
  }

  /** Lets go of what is not complete, when no more will come. */
  drop(): void {
    this.#line.clear()
    this.#data.clear()
  }

  /** Takes the next bytes of the stream, which nobody may write to afterwards. */
  push(chunk: Buffer, handlers: SseHandlers): void {
    const bytes = this.#bom.pass(chunk)
    if (bytes.length === 0) return
    let from = this.#afterCr && bytes[0] === LF ? 1 : 0
    this.#afterCr = false
    // Each position is looked up again only once it was passed, so that the whole chunk is searched once.
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

  /** A line that is in one chunk, as most are, needs no place where it is put together. */
  #wholeLine(bytes: Buffer, from: number, end: number, handlers: SseHandlers): void {
    if (end === from) this.#endEvent(handlers)
    else if (bytes[from] !== COLON) {
      this.#eventBytes += end - from
      if (this.#eventBytes > this.#maxBytes) this.#throwAway()
      if (!this.#isTooLong) this.#readField(bytes, from, end)
    }
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (this.#lineBytes === 0) this.#isComment = bytes[0] === COLON
    this.#lineBytes += bytes.length
    if (this.#isComment || this.#isTooLong) return
    if (this.#eventBytes + this.#lineBytes > this.#maxBytes) this.#throwAway()
    else this.#line.add(bytes)
  }

  #throwAway(): void {
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
