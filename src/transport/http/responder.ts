import { type ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/async/clock.js'
import type { Caller } from '../../kernel/caller.js'
import { newErrorId } from '../../kernel/error-ids.js'
import type { Logger } from '../../kernel/logger.js'
import type { HttpResponder, HttpStream } from '../../wire/http.js'
import { lengthOf, type MessageParts, type OutgoingMessage, whole } from '../../wire/message-parts.js'
import { currentOn } from '../node-internals.js'
import type { SlowReaders } from './slow-readers.js'

/** How long a client that is still sending may take to read the error before its connection is cut. */
const LINGER_MS = 300

/** Up to this size what is written goes together with what is in front of it, as one text. */
const JOINED_BYTES = 16 * 1024
/** Up to this size copying the parts of a body costs less than writing each of them. */
const COPIED_BYTES = 64 * 1024

type Headers = Readonly<Record<string, string>>

/** Alternating names and values, which Node takes as they are, with `Content-Length`. */
function headOf(headers: Headers, body: OutgoingMessage | string): string[] {
  const head: string[] = []
  for (const name in headers) head.push(name, headers[name] ?? '')
  head.push('Content-Length', String(typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body)))
  return head
}

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
  response.writeHead(status, headOf(headers, body))
  // In latin1 each byte is one character, and back.
  if (typeof body === 'string') response.end(body)
  else if (lengthOf(body) <= JOINED_BYTES) response.end(textOf(body), 'latin1')
  else if (lengthOf(body) <= COPIED_BYTES || Buffer.isBuffer(body)) response.end(whole(body))
  else {
    response.write(body.head, 'latin1')
    response.write(body.body)
    response.end(body.tail, 'latin1')
  }
}

const textOf = (frame: OutgoingMessage): string =>
  Buffer.isBuffer(frame) ? frame.toString('latin1') : frame.head + frame.body.toString('latin1') + frame.tail

/** The whole answer to a request that reaches no handler. */
export interface Denial {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** Invalid request (JSON-RPC 2.0 §5.1). */
const REFUSED = -32600

/** A refusal in the form of a JSON-RPC error. */
export const errorDenial = (status: number, message: string): Denial => ({
  status,
  headers: { 'Content-Type': 'application/json', ...(status === 503 && { 'Retry-After': '5' }) },
  body: JSON.stringify({
    jsonrpc: '2.0',
    error: { code: REFUSED, message, data: { errorId: newErrorId(REFUSED, message) } },
  }),
})

/** Refuses a request that reaches no handler. */
export function deny(response: ServerResponse, { status, headers, body }: Denial): void {
  if (response.headersSent) response.destroy()
  else writeResponse(response, status, headers, body)
}

/**
 * Refuses a request whose body is still on its way. The response is complete for the client but not ended for
 * Node, which would first read the rest of the body, or cut the connection before the response is read.
 */
export function denyAndCut(response: ServerResponse, { status, headers, body }: Denial, clock: Clock): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { ...headers, 'Content-Length': length, Connection: 'close' })
  response.write(body)
  clock.after(LINGER_MS, () => response.destroy())
}

/** Responds on a bare connection, and closes it. */
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

const nothing = (): void => undefined

/** Writes everything of one turn of the event loop as one chunk, where Node would make four of each event. */
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
    // Node tells of what is written after the end.
    response.on('error', nothing)
  }

  /** Includes what the socket has queued. */
  get queuedBytes(): number {
    return this.#response.writableLength + this.#held.length
  }

  /** Sends the head at once: the first event may come in an hour. */
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

  /** Writes bytes, as they are or as latin1. */
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
 * Whether anything else written to a connection would land inside a response, or be taken for it; a request
 * that is incomplete may be answered with what is wrong with it.
 */
export const isBusy = (socket: Duplex): boolean => {
  const current = currentOn(socket)
  return current !== undefined && (current.headersSent || current.req.complete)
}

/** What the responders of one server share. */
export interface ResponderContext {
  readonly log: Logger
  readonly slowReaders: SlowReaders
  /** The event streams that are open, with the callers that they were opened for. */
  readonly streams?: Map<ServerResponse, Caller>
  /** Whether a request is being handled: what is answered now, and not later, was in the same turn. */
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
   * Writes what is answered here and now, such as a notification, at the end of the turn of the event loop:
   * more requests may have come in it, between which each response would wake a client for nothing else.
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
      log.error({ err: error }, 'left out headers that are not valid')
      writeResponse(response, status, this.#valid(headers), body)
    }
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

  /** Whether it may respond: the client is there, and it is the first time. */
  #begin(): boolean {
    const isFirst = !this.#hasBegun && !this.#response.headersSent
    this.#hasBegun = true
    if (this.#response.destroyed) return false
    if (!isFirst) this.#context.log.error({}, 'dropped a second response to one HTTP request')
    return isFirst
  }

  /** Node would refuse the whole response for one value with a line break. */
  #valid(headers: Headers): Record<string, string> {
    const valid: Record<string, string> = {}
    for (const [name, value] of Object.entries(headers)) {
      try {
        validateHeaderName(name)
        validateHeaderValue(name, value)
        valid[name] = value
      } catch (error) {
        this.#context.log.error({ name, err: error }, 'left out a header that is not valid')
      }
    }
    return valid
  }
}
