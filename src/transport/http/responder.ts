import { type ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/async/clock.js'
import type { Caller } from '../../kernel/caller.js'
import { newErrorId } from '../../kernel/error-ids.js'
import type { Logger } from '../../kernel/logger.js'
import { nothing } from '../../kernel/nothing.js'
import type { HttpResponder, HttpStream } from '../../wire/http.js'
import { lengthOf, type MessageParts, type OutgoingMessage, whole } from '../../wire/message-parts.js'
import { currentOn } from '../node-internals.js'
import type { SlowReaders } from './slow-readers.js'

/** Time for a client that is still sending to read the error before the connection is cut. */
const LINGER_MS = 300

/** Up to this size, a body is joined with the head into one text. */
const JOINED_BYTES = 16 * 1024
/** Up to this size, copying the parts of a body is cheaper than writing each of them. */
const COPIED_BYTES = 64 * 1024

type Headers = Readonly<Record<string, string>>

function writeResponse(
  response: ServerResponse,
  status: number,
  headers: Headers,
  body: OutgoingMessage | string,
): void {
  if (status === 204 || status === 304) {
    response.writeHead(status, { ...headers }).end()
    return
  }
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body)
  // Alternating names and values, which Node writes unchanged.
  const head: string[] = []
  for (const name in headers) head.push(name, headers[name] ?? '')
  head.push('Content-Length', String(bytes))
  response.writeHead(status, head)
  // In latin1 each byte is one character.
  if (typeof body === 'string') response.end(body)
  else if (bytes <= JOINED_BYTES) response.end(textOf(body), 'latin1')
  else if (bytes <= COPIED_BYTES || Buffer.isBuffer(body)) response.end(whole(body))
  else {
    response.write(body.head, 'latin1')
    response.write(body.body)
    response.end(body.tail, 'latin1')
  }
}

const textOf = (frame: OutgoingMessage): string =>
  Buffer.isBuffer(frame) ? frame.toString('latin1') : frame.head + frame.body.toString('latin1') + frame.tail

/** The complete response to a refused request. */
export interface Denial {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Invalid request (JSON-RPC 2.0 §5.1). */
const REFUSED = -32600

/** Creates a refusal with a JSON-RPC error. */
export const errorDenial = (status: number, message: string): Denial => ({
  status,
  headers: { 'Content-Type': 'application/json', ...(status === 503 && { 'Retry-After': '5' }) },
  body: JSON.stringify({
    jsonrpc: '2.0',
    error: { code: REFUSED, message, data: { errorId: newErrorId(REFUSED, message) } },
  }),
})

/** Refuses a request before its handler. */
export function deny(response: ServerResponse, { status, headers, body }: Denial): void {
  if (response.headersSent) response.destroy()
  else writeResponse(response, status, headers, body)
}

/**
 * Refuses a request whose body is still in transit. The response is complete for the client but not ended for
 * Node, which would first read the rest of the body, or cut the connection before the response is read.
 */
export function denyAndCut(response: ServerResponse, { status, headers, body }: Denial, clock: Clock): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { ...headers, 'Content-Length': length, Connection: 'close' })
  response.write(body)
  clock.after(LINGER_MS, () => response.destroy())
}

/** Writes a response directly to a connection, and closes it. */
export function refuseOn(
  socket: Duplex,
  status: number,
  { headers, body }: Pick<Denial, 'headers' | 'body'> = { headers: {}, body: '' },
): void {
  const length = String(Buffer.byteLength(body))
  const lines = Object.entries({ ...headers, Connection: 'close', 'Content-Length': length })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`, () => socket.destroy())
}

const CUT_OFF = new Error('The connection was cut')

/** Writes all data of one turn of the event loop as one chunk; Node would make four per event. */
class ResponseStream implements HttpStream {
  readonly #response: ServerResponse
  readonly #slowReaders: SlowReaders
  readonly #onTaken: (() => void) | undefined
  /** Text in latin1, as in `writeResponse`. */
  #held = ''

  constructor(response: ServerResponse, slowReaders: SlowReaders, onTaken?: () => void) {
    this.#response = response
    this.#slowReaders = slowReaders
    this.#onTaken = onTaken
    // Node reports writes after the end.
    response.on('error', nothing)
  }

  /** Includes the socket's queue. */
  get queuedBytes(): number {
    return this.#response.writableLength + this.#held.length
  }

  /** Sends the head at once, since the first event may come much later. */
  open(): void {
    setImmediate(() => {
      const response = this.#response
      if (this.#held === '' && !response.writableEnded && !response.destroyed) response.flushHeaders()
    })
  }

  write(chunk: OutgoingMessage | string): boolean {
    const response = this.#response
    if (response.writableEnded || response.destroyed) return false
    const { head, body, tail } = framed(chunk)
    if (this.#held === '') setImmediate(this.#flush)
    if (body.length > JOINED_BYTES) {
      this.#held += head
      this.#flush()
      this.#put(body)
      this.#held = tail
      this.#flush()
    } else {
      this.#held += head + body.toString('latin1') + tail
      if (this.#held.length > JOINED_BYTES) this.#flush()
    }
    return !response.writableNeedDrain
  }

  end(): void {
    const response = this.#response
    if (response.writableEnded || response.destroyed) return
    const last = this.#held
    this.#held = ''
    response.end(last, 'latin1')
  }

  readonly #flush = (): void => {
    const held = this.#held
    this.#held = ''
    if (held !== '' && !this.#response.writableEnded && !this.#response.destroyed) this.#put(held)
  }

  /** Writes bytes, or text as latin1. */
  #put(chunk: Buffer | string): void {
    const isTaken = this.#response.write(chunk, 'latin1', this.#onTaken)
    if (!isTaken) this.#slowReaders.wrote(this.#response, chunk.length)
  }

  destroy(): void {
    // Without an error Node creates one for each queued chunk, which blocks the event loop
    // (lib/internal/streams/writable.js, errorBuffer).
    this.#response.destroy(CUT_OFF)
  }
}

const framed = (chunk: OutgoingMessage | string): MessageParts => {
  if (typeof chunk === 'string') return { head: '', body: Buffer.from(chunk), tail: '' }
  return Buffer.isBuffer(chunk) ? { head: '', body: chunk, tail: '' } : chunk
}

/**
 * Reports whether a direct write to a connection would corrupt a response, or be taken for one. An incomplete
 * request can be answered with its error.
 */
export const isBusy = (socket: Duplex): boolean => {
  const current = currentOn(socket)
  return current !== undefined && (current.headersSent || current.req.complete)
}

/** Data shared by all responders of a server. */
export interface ResponderContext {
  readonly log: Logger
  readonly slowReaders: SlowReaders
  /** Open event streams and their callers. */
  readonly streams?: Map<ServerResponse, Caller>
  /** True while a request is handled: an answer during that time is in the same turn. */
  isHandling: boolean
}

export class NodeResponder implements HttpResponder {
  readonly #response: ServerResponse
  readonly #context: ResponderContext
  readonly #caller: Caller | undefined
  #hasBegun = false

  constructor(response: ServerResponse, context: ResponderContext, caller?: Caller) {
    this.#response = response
    this.#context = context
    this.#caller = caller
  }

  /**
   * Delays an immediate response, such as to a notification, to the end of the turn: further requests of the
   * turn would otherwise each wake the client for one response.
   */
  send(status: number, headers: Headers, body: OutgoingMessage | string = ''): void {
    if (!this.#begin()) return
    if (this.#context.isHandling)
      setImmediate(() => {
        const { destroyed, headersSent } = this.#response
        if (!destroyed && !headersSent) this.#write(status, headers, body)
      })
    else this.#write(status, headers, body)
  }

  #write(status: number, headers: Headers, body: OutgoingMessage | string): void {
    const response = this.#response
    const { log, slowReaders } = this.#context
    try {
      writeResponse(response, status, headers, body)
    } catch (error) {
      log.error({ err: error }, 'dropped invalid headers of a response')
      writeResponse(response, status, this.#valid(headers), body)
    }
    // The operating system accepts most responses at once.
    if (response.writableLength > 0)
      slowReaders.wrote(response, typeof body === 'string' ? body.length : lengthOf(body))
  }

  stream(status: number, headers: Headers, onTaken?: () => void): HttpStream {
    const stream = new ResponseStream(this.#response, this.#context.slowReaders, onTaken)
    if (!this.#begin()) return stream
    if (this.#caller?.scopes !== undefined) this.#watch(this.#caller)
    try {
      this.#response.writeHead(status, headers)
    } catch {
      this.#response.writeHead(status, this.#valid(headers))
    }
    stream.open()
    return stream
  }

  #watch(caller: Caller): void {
    const { streams } = this.#context
    streams?.set(this.#response, caller)
    this.#response.on('close', () => streams?.delete(this.#response))
  }

  onGone(then: () => void): void {
    const response = this.#response
    const onClose = () => {
      if (!response.writableFinished) then()
    }
    if (response.closed || response.destroyed) queueMicrotask(onClose)
    else response.on('close', onClose)
  }

  /** Reports whether a response may be sent: the client is connected, and it is the first. */
  #begin(): boolean {
    const isFirst = !this.#hasBegun && !this.#response.headersSent
    this.#hasBegun = true
    if (this.#response.destroyed) return false
    if (!isFirst) this.#context.log.error({}, 'dropped a second response to one HTTP request')
    return isFirst
  }

  /** Drops invalid values; Node would refuse the whole response for one value with a line break. */
  #valid(headers: Headers): Record<string, string> {
    const valid: Record<string, string> = {}
    for (const [name, value] of Object.entries(headers)) {
      try {
        validateHeaderName(name)
        validateHeaderValue(name, value)
        valid[name] = value
      } catch (error) {
        this.#context.log.error({ name, err: error }, 'dropped an invalid header of a response')
      }
    }
    return valid
  }
}
