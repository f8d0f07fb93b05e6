import { type ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import type { HttpResponder, HttpStream } from '../../wire/http.js'
import { lengthOf, type MessageParts, type OutgoingMessage, whole } from '../../wire/message-parts.js'
import type { Unread } from './unread.js'

/** How long a client that is still sending gets to read why we stopped listening, before the connection is cut. */
const LINGER_MS = 300

const errorBody = (message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', error: { code: -32600, message } })

/** Up to this size Node writes head and body as one piece, if the body is text. */
const JOINED_BYTES = 16 * 1024
/** Up to this size copying the pieces of a body costs less than to write each of them. */
const COPIED_BYTES = 64 * 1024

type Headers = Readonly<Record<string, string>>

/** Names and values in turn, which Node takes as they are; `Content-Length` with them. */
function headOf(headers: Headers, body: OutgoingMessage | string): string[] {
  const head: string[] = []
  for (const name in headers) head.push(name, headers[name] ?? '')
  head.push('Content-Length', String(typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body)))
  return head
}

function plainAnswer(
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
  // As latin1 each byte is a character, and each character the same byte again.
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

/** Refuses a request that never reaches a handler, in the shape of a JSON-RPC error. */
export function answerError(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  plainAnswer(response, status, { 'Content-Type': 'application/json' }, errorBody(message))
}

/**
 * Refuses a request whose body is still on its way. The answer is complete for the client, but not ended for
 * Node, which would read the rest of the body first, or cut the connection before the answer is read.
 */
export function answerAndCut(response: ServerResponse, status: number, message: string, clock: Clock): void {
  const body = errorBody(message)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...(status === 503 && { 'Retry-After': '5' }),
  })
  response.write(body)
  const cut = () => response.destroy()
  clock.after(LINGER_MS, cut)
}

/** Answers on a connection that has no response of Node's, and closes it. */
export function refuseOn(socket: Duplex, status: number): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
  socket.end(head, () => socket.destroy())
}

const CUT_OFF = new Error('The connection was cut')

/** What is written in one turn of the event loop is one chunk of the answer; Node alone would make four pieces of each event. */
class ResponseStream implements HttpStream {
  readonly #response: ServerResponse
  readonly #unread: Unread
  readonly #onTaken: (() => void) | undefined
  /** As latin1, for the same reason as a whole answer. */
  #held = ''

  constructor(response: ServerResponse, unread: Unread, onTaken?: () => void) {
    this.#response = response
    this.#unread = unread
    this.#onTaken = onTaken
  }

  /** Includes what waits in the socket. */
  get queuedBytes(): number {
    return this.#response.writableLength + this.#held.length
  }

  /** The client learns at once that its stream is open, also when the first event comes in an hour. */
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

  /** Writes bytes, or text that stands for them. */
  #put(chunk: Buffer | string): void {
    const isTaken = this.#response.write(chunk, 'latin1', this.#onTaken)
    if (!isTaken) this.#unread.wrote(this.#response, chunk.length)
  }

  destroy(): void {
    // Without an error of ours Node makes one for each chunk that waits, which holds up everybody for a while
    // (lib/internal/streams/writable.js, errorBuffer).
    this.#response.destroy(CUT_OFF)
  }
}

const framed = (chunk: OutgoingMessage | string): MessageParts => {
  if (typeof chunk === 'string') return { head: '', body: Buffer.from(chunk), tail: '' }
  return Buffer.isBuffer(chunk) ? { head: '', body: chunk, tail: '' } : chunk
}

/** What was asked on each connection and is not answered in full. Answers keep the order of requests, so the last one tells. */
export class Answering {
  readonly #last = new WeakMap<Duplex, ServerResponse>()

  /** A request came, to which this will be the answer. */
  began(response: ServerResponse): void {
    this.#last.set(response.req.socket, response)
  }

  /** Whether an answer is due, or not complete. */
  isDue(socket: Duplex): boolean {
    return this.#last.get(socket)?.writableFinished === false
  }

  /** Whether more words on this connection would land in the middle of an answer, or be taken for it. */
  isInWay(socket: Duplex): boolean {
    const last = this.#last.get(socket)
    if (last?.writableFinished !== false) return false
    // What is wrong with a request that is not complete is its own answer; Node gives the connection to one whose turn has come.
    return last.headersSent || last.socket === null || last.req.complete
  }
}

/** What all answers of one listener share. */
export interface ResponderContext {
  readonly log: Logger
  readonly unread: Unread
}

class NodeResponder implements HttpResponder {
  readonly #response: ServerResponse
  readonly #context: ResponderContext

  constructor(response: ServerResponse, context: ResponderContext) {
    this.#response = response
    this.#context = context
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: OutgoingMessage | string = ''): void {
    if (this.#isTaken()) return
    const response = this.#response
    const { log, unread } = this.#context
    try {
      plainAnswer(response, status, headers, body)
    } catch (error) {
      log.error({ err: error }, 'headers that are not valid were left out')
      plainAnswer(response, status, this.#valid(headers), body)
    }
    unread.wrote(response, typeof body === 'string' ? body.length : lengthOf(body))
  }

  stream(status: number, headers: Readonly<Record<string, string>>, onTaken?: () => void): HttpStream {
    const { unread } = this.#context
    const stream = new ResponseStream(this.#response, unread, onTaken)
    if (this.#isTaken()) return stream
    this.#response.writeHead(status, this.#valid(headers))
    stream.open()
    return stream
  }

  onGone(then: () => void): void {
    const response = this.#response
    const tell = () => {
      if (!response.writableFinished) then()
    }
    if (response.closed || response.destroyed) queueMicrotask(tell)
    else response.on('close', tell)
  }

  #isTaken(): boolean {
    if (this.#response.destroyed) return true
    if (!this.#response.headersSent) return false
    this.#context.log.error({}, 'a second answer to one HTTP request was dropped')
    return true
  }

  /** A value with a line break would be refused by Node, and with it the whole answer. */
  #valid(headers: Headers): Record<string, string> {
    const valid: Record<string, string> = {}
    for (const [name, value] of Object.entries(headers)) {
      try {
        validateHeaderName(name)
        validateHeaderValue(name, value)
        valid[name] = value
      } catch (error) {
        this.#context.log.error({ name, err: error }, 'a header that is not valid was left out')
      }
    }
    return valid
  }
}

/** The answer to one request, over Node's response. */
export const createResponder = (response: ServerResponse, context: ResponderContext): HttpResponder =>
  new NodeResponder(response, context)
