import type { IncomingMessage } from 'node:http'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { ByteRope } from '../../wire/framing/byte-rope.js'
import type { HttpHeaders, HttpRequest } from '../../wire/http.js'

/** Who wants the body of a request. */
export interface BodyReader {
  /** All of it. */
  whole(body: Buffer): void
  /** It is longer than one body may be, or all that are on their way are too long together. */
  refused(limit: 'body' | 'inbound'): void
}

/** Also what an endpoint sees of a body that it has not taken. */
export const NO_BODY = Buffer.alloc(0)

/** Node reads the rest of a body that nobody wanted, to use the connection again; worth it up to this size. */
const SHORT_BODY_BYTES = 64 * 1024

/** How long the body is, by what its sender said beforehand; 0 if it said nothing. */
const announcedBytes = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0)

/** Whether the sender has said beforehand that it will send too much. */
export const announcesTooMuch = (request: IncomingMessage, limitBytes: number): boolean =>
  announcedBytes(request) > limitBytes

/** Whether a body follows that is better cut off than read, when the request is refused anyway. */
export const hasLongBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || announcesTooMuch(request, SHORT_BODY_BYTES)

/**
 * Reads the body of a request up to the limit and tells once what became of it; never, if its sender leaves halfway. Of a body
 * that is too large no more is read than it takes to know that: nothing when its length was announced.
 */
export function readBody(
  request: IncomingMessage,
  { max, inbound }: LimitCounters,
  reader: BodyReader,
): void {
  if (announcesTooMuch(request, max.body)) {
    reader.refused('body')
    return
  }
  let isRefused = false
  const refuse = (limit: 'body' | 'inbound'): void => {
    isRefused = true
    request.pause()
    body?.clear()
    reader.refused(limit)
  }
  // Most bodies come in one piece.
  let only: Buffer | undefined
  let body: ByteRope | undefined
  request.on('data', (chunk: Buffer) => {
    if (isRefused) return
    if (body === undefined && chunk.length === announcedBytes(request)) {
      only = chunk
      return
    }
    if (body === undefined) {
      const parts = new ByteRope(inbound.open(() => refuse('inbound')))
      request.on('close', () => parts.clear())
      body = parts
    }
    body.add(chunk)
    if (body.size > max.body) refuse('body')
  })
  request.on('end', () => {
    if (isRefused) return
    const whole = body?.take() ?? only ?? NO_BODY
    only = undefined
    reader.whole(whole)
  })
}

/** Whether a header, named in lower case, stands there more than once; names and values come in turn. */
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

/** All values of each header. Node keeps only the first of some that come twice; who sends two may mean the second. */
function headersOf(request: IncomingMessage): HttpHeaders {
  const { headers, rawHeaders } = request
  if (Object.keys(headers).length * 2 === rawHeaders.length) return headers as HttpHeaders
  return Object.fromEntries(
    Object.entries(request.headersDistinct).map(([name, values]) => [name, values?.join(', ')]),
  )
}

/** A request to an endpoint, whose body is read; what few handlers look at is made when they do. */
export class EndpointRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly headers: HttpHeaders
  /** Set before a handler sees it. */
  body: Buffer = NO_BODY
  readonly remoteAddress: string
  readonly #query: string

  constructor(request: IncomingMessage, path: string, query: string) {
    this.method = request.method ?? 'GET'
    this.path = path
    this.headers = headersOf(request)
    this.#query = query
    this.remoteAddress = request.socket.remoteAddress ?? ''
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#query)
  }
}
