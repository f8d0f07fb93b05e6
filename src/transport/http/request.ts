import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../kernel/caller.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { ByteRope } from '../../wire/framing/byte-rope.js'
import type { HttpHeaders, HttpRequest } from '../../wire/http.js'
import type { IncomingRequest } from '../node-internals.js'

interface BodyReader {
  whole(body: Buffer): void
  /** The body is too long, or all bodies in transit together are. */
  refused(limit: 'body' | 'inbound'): void
}

export const NO_BODY = Buffer.alloc(0)

/** Up to this size, reading an unwanted body, as Node does, is cheaper than a new connection. */
const SHORT_BODY_BYTES = 64 * 1024

/** Returns the announced length of the body, or 0. */
const announcedBytes = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0)

/** Reports whether to cut off the body of a refused request instead of reading it. */
export const hasLongBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || announcedBytes(request) > SHORT_BODY_BYTES

/**
 * Reads the body of a request and calls the reader once, or never if the sender disconnects early. Stops as
 * soon as the body is known to be too large, possibly before reading.
 */
export function readBody(request: IncomingRequest, bounds: LimitCounters, reader: BodyReader): void {
  const maxBytes = bounds.max.body
  const announced = announcedBytes(request)
  if (announced > maxBytes) {
    reader.refused('body')
    return
  }
  let isRefused = false
  const refuse = (limit: 'body' | 'inbound'): void => {
    isRefused = true
    body?.clear()
    reader.refused(limit)
  }
  // Most bodies arrive in one piece.
  let only: Buffer | undefined
  let body: ByteRope | undefined
  const collect = (piece: Buffer): void => {
    if (body === undefined) {
      const parts = new ByteRope(bounds.inbound.open(() => refuse('inbound')))
      request.on('close', () => parts.clear())
      body = parts
    }
    body.add(piece)
    if (body.size > maxBytes) refuse('body')
  }
  request.takeBody(piece => {
    if (isRefused) return false
    if (piece === null) {
      const whole = body?.take() ?? only ?? NO_BODY
      only = undefined
      reader.whole(whole)
    } else if (body === undefined && piece.length === announced) only = piece
    else collect(piece)
    return !isRefused
  })
}

/** Reports whether a lower-case header name occurs more than once; names and values alternate. */
export function comesTwice(rawHeaders: readonly string[], name: string): boolean {
  let isThere = false
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const other = rawHeaders[at] ?? ''
    if (other.length !== name.length || (other !== name && other.toLowerCase() !== name)) continue
    if (isThere) return true
    isThere = true
  }
  return false
}

/** Returns all values of each header. Node keeps only the first of some, but a sender may mean the second. */
function headersOf(request: IncomingMessage): HttpHeaders {
  const { headers, rawHeaders } = request
  if (Object.keys(headers).length * 2 === rawHeaders.length) return headers as HttpHeaders
  return Object.fromEntries(
    Object.entries(request.headersDistinct).map(([name, values]) => [name, values?.join(', ')]),
  )
}

/** Returns the client address named by a trusted proxy, otherwise the peer's. */
export const clientAddressOf = (request: IncomingMessage): string =>
  (request as Partial<IncomingRequest>).clientAddress ?? request.socket.remoteAddress ?? ''

/** A request to an endpoint. Rarely used parts are computed on demand. */
export class EndpointRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly headers: HttpHeaders
  /** Set while a handler runs. */
  body: Buffer = NO_BODY
  readonly remoteAddress: string
  readonly remotePort: number | undefined
  readonly caller: Caller
  readonly #query: string

  constructor(request: IncomingMessage, caller: Caller, path: string, query: string) {
    this.method = request.method ?? 'GET'
    this.path = path
    this.headers = headersOf(request)
    this.caller = caller
    this.#query = query
    this.remoteAddress = clientAddressOf(request)
    this.remotePort = request.socket.remotePort
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#query)
  }
}
