import type { ServerResponse } from 'node:http'
import type { Clock } from '../kernel/clock.js'
import type { Logger } from '../kernel/logger.js'
import type { HttpResponder, HttpStream } from '../wire/http.js'
import type { Unread } from './unread.js'

/** How long a client that is still sending gets to read why we stopped listening, before the connection is cut. */
const LINGER_MS = 300

const errorBody = (message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', error: { code: -32600, message } })

function plainAnswer(response: ServerResponse, status: number, body: Buffer | string): void {
  if (status === 204 || status === 304) {
    response.writeHead(status).end()
    return
  }
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body) }).end(body)
}

/** Refuses a request that never reaches a handler, in the shape of a JSON-RPC error. */
export function answerError(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.setHeader('Content-Type', 'application/json')
  plainAnswer(response, status, errorBody(message))
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
  })
  response.write(body)
  const cut = () => response.destroy()
  clock.after(LINGER_MS, cut)
}

const CUT_OFF = new Error('The connection was cut')

class ResponseStream implements HttpStream {
  readonly #response: ServerResponse
  readonly #unread: Unread

  constructor(response: ServerResponse, unread: Unread) {
    this.#response = response
    this.#unread = unread
  }

  /** Includes what waits in the socket. */
  get queuedBytes(): number {
    return this.#response.writableLength
  }

  write(chunk: Buffer | string): boolean {
    if (this.#response.writableEnded || this.#response.destroyed) return false
    const isTaken = this.#response.write(chunk)
    if (!isTaken) this.#unread.wrote(this.#response, chunk.length)
    return isTaken
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end()
  }

  destroy(): void {
    // Without an error of ours Node makes one for each chunk that waits, which holds up everybody for a while
    // (lib/internal/streams/writable.js, errorBuffer).
    this.#response.destroy(CUT_OFF)
  }
}

class NodeResponder implements HttpResponder {
  readonly #response: ServerResponse
  readonly #log: Logger
  readonly #unread: Unread

  constructor(response: ServerResponse, log: Logger, unread: Unread) {
    this.#response = response
    this.#unread = unread
    this.#log = log
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string = ''): void {
    if (this.#isTaken()) return
    this.#addHeaders(headers)
    plainAnswer(this.#response, status, body)
    this.#unread.wrote(this.#response, body.length)
  }

  stream(status: number, headers: Readonly<Record<string, string>>): HttpStream {
    const stream = new ResponseStream(this.#response, this.#unread)
    if (this.#isTaken()) return stream
    this.#addHeaders(headers)
    this.#response.writeHead(status)
    // The client learns at once that its stream is open, also when the first event comes in an hour.
    this.#response.flushHeaders()
    return stream
  }

  onGone(then: () => void): void {
    const response = this.#response
    const tell = () => {
      if (!response.writableFinished) then()
    }
    if (response.closed || response.destroyed) queueMicrotask(tell)
    else response.once('close', tell)
  }

  #isTaken(): boolean {
    if (this.#response.destroyed) return true
    if (!this.#response.headersSent) return false
    this.#log.error({}, 'a second answer to one HTTP request was dropped')
    return true
  }

  /** A value with a line break would be refused by Node, and with it the whole answer. */
  #addHeaders(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers)) {
      try {
        this.#response.setHeader(name, value)
      } catch (error) {
        this.#log.error({ name, err: error }, 'a header that is not valid was left out')
      }
    }
  }
}

/** The answer to one request, over Node's response. */
export const createResponder = (response: ServerResponse, log: Logger, unread: Unread): HttpResponder =>
  new NodeResponder(response, log, unread)
