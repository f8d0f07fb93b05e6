import { Fault, type RemoteFailure } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { ByteRope } from '../../wire/framing/byte-rope.js'
import { SseReader } from '../../wire/framing/sse-read.js'
import { isJsonType, mediaTypeOf } from '../../wire/http/headers.js'
import type { BodyReader, HttpHeaders, OutboundExchange } from '../../wire/http.js'

export interface RemoteAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** The headers for POSTing one message (basic/transports, "Sending Messages to the Server"). */
export const POST_HEADERS = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
} as const

const CROWDED =
  "The server's answer was given up: too much is being received at the same time (limits.inbound)"

export interface BodyParts extends BodyReader {
  /** Discards the received part; may be called after the end. */
  drop(): void
}

/** Collects a whole body; `done` gets it, or a Fault: `too-large` above the limit. */
export class WholeBody implements BodyParts {
  readonly #exchange: OutboundExchange
  readonly #bounds: LimitCounters
  readonly #done: (body: Buffer | Fault) => void
  readonly #body: ByteRope

  constructor(exchange: OutboundExchange, bounds: LimitCounters, done: (body: Buffer | Fault) => void) {
    this.#exchange = exchange
    this.#bounds = bounds
    this.#done = done
    this.#body = new ByteRope(bounds.inbound.open(() => this.#giveUp(CROWDED)))
  }

  data(chunk: Buffer): void {
    this.#body.add(chunk)
    const max = this.#bounds.max.message
    if (this.#body.size <= max) return
    this.#bounds.hit('message')
    this.#giveUp(`The server's answer is longer than ${max} bytes`)
  }

  ended(fault: Fault | undefined): void {
    const body = this.#body.take()
    this.#done(fault ?? body)
  }

  drop(): void {
    this.#body.clear()
  }

  #giveUp(message: string): void {
    this.#body.clear()
    this.#exchange.discard()
    this.#done(new Fault('too-large', message))
  }
}

/** Returns whether a body may be the answer: JSON, even of an HTTP error, but not of a rejected login. */
export const isAnswerBody = (status: number, headers: HttpHeaders): boolean =>
  isJsonType(mediaTypeOf(headers['content-type'])) && status !== 401 && status !== 403

/** The most common cause: a missing or wrong path in the configured address. */
const NOT_THERE = ' (not found): check the path of "url"'

/** The server's own reason, without secrets, and the form of its answer. */
export interface StatedReason {
  readonly reason: string | undefined
  readonly remote: RemoteFailure | undefined
}

/** Creates the Fault for a reply without an answer. */
export const statusFault = (status: number, { reason, remote }: Partial<StatedReason> = {}): Fault => {
  const more = { data: { httpStatus: status }, remote }
  if (status === 401 || status === 403) {
    const lead = status === 401 ? 'The server needs authorization' : 'The server refused the request'
    const message =
      reason === undefined ? 'The server needs authorization' : `${lead} (HTTP status ${status}): ${reason}`
    return new Fault('unauthorized', message, more)
  }
  if (status >= 200 && status < 300) {
    const message = 'The server answered with something that is neither JSON nor an event stream'
    return new Fault('unavailable', message, { ...more, remote: 'page' })
  }
  const [place, sign] = status === 404 ? [NOT_THERE, '; it answered'] : ['', '']
  const said = reason === undefined ? '' : `${sign}: ${reason}`
  return new Fault('unavailable', `The server answered with HTTP status ${status}${place}${said}`, more)
}

export interface StreamHandlers {
  message(data: Buffer): void
  /** A chunk was processed. */
  read(): void
  /** A message exceeds the limit and is discarded, even if it has not ended yet. */
  skipped(bytes: number): void
  /** The stream ended or broke; the rest can be resumed. `gotEvent`: at least one event came. */
  streamEnded(reader: SseReader, gotEvent: boolean): void
}

/** A message of this many times the limit is considered endless, and its stream is closed. */
const ENDLESS = 2

export class EventBody implements BodyParts {
  readonly #exchange: OutboundExchange
  readonly #on: StreamHandlers
  readonly #bounds: LimitCounters
  readonly #reader: SseReader
  #gotEvent = false
  /** True if the current event was already reported as too long. */
  #isReported = false

  constructor(exchange: OutboundExchange, on: StreamHandlers, bounds: LimitCounters) {
    this.#exchange = exchange
    this.#on = on
    this.#bounds = bounds
    this.#reader = new SseReader({ maxBytes: bounds.max.message, account: bounds.inbound })
  }

  data(chunk: Buffer): void {
    this.#reader.push(chunk, this)
    this.#on.read()
    const { overrunBytes } = this.#reader
    if (overrunBytes > 0 && !this.#isReported) {
      this.#isReported = true
      this.#skip(overrunBytes)
    }
    if (overrunBytes > ENDLESS * this.#bounds.max.message) {
      this.#exchange.discard()
      this.ended()
    }
  }

  ended(): void {
    this.#reader.drop()
    this.#on.streamEnded(this.#reader, this.#gotEvent)
  }

  drop(): void {
    this.#reader.drop()
  }

  onEvent({ data }: { readonly data: Buffer }): void {
    this.#gotEvent = true
    // An event without data only sets the id.
    if (data.length > 0) this.#on.message(data)
  }

  onSkipped(bytes: number): void {
    if (!this.#isReported) this.#skip(bytes)
    this.#isReported = false
  }

  #skip(bytes: number): void {
    this.#bounds.hit('message')
    this.#on.skipped(bytes)
  }
}
