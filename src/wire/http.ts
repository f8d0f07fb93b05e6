import type { Caller } from '../kernel/caller.js'
import type { Fault } from '../kernel/faults.js'
import type { OutgoingMessage } from './message-parts.js'

/** Header names in lower case; a header that came several times is joined by ", " as RFC 9110 §5.3 says. */
export type HttpHeaders = Readonly<Record<string, string | undefined>>

/**
 * PORT, server side. One request that passed the guards (Host, Origin, size, credential); its body is
 * complete.
 */
export interface HttpRequest {
  readonly method: string
  /** Path without query, as it came. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: HttpHeaders
  /** Only until the handler returns; what is wanted later is to be taken out of it by then. */
  readonly body: Buffer
  readonly remoteAddress: string
  readonly remotePort: number | undefined
  readonly caller: Caller
}

export interface HttpStream {
  /** False: the peer is behind. Writing after the end or after the peer left does nothing. */
  write(chunk: OutgoingMessage | string): boolean
  end(): void
  readonly queuedBytes: number
  /** Cuts the connection without a proper end. */
  destroy(): void
}

/** PORT, server side. The answer to an `HttpRequest`; either `send` or `stream` is called, once. */
export interface HttpResponder {
  send(status: number, headers: Readonly<Record<string, string>>, body?: OutgoingMessage | string): void
  /** `onTaken` is called whenever the operating system took some of what was written. */
  stream(status: number, headers: Readonly<Record<string, string>>, onTaken?: () => void): HttpStream
  /** Calls `then` once when the connection goes away before the answer is complete. */
  onGone(then: () => void): void
}

/** In which forms a client takes an answer. */
export interface AcceptedTypes {
  readonly json: boolean
  readonly events: boolean
}

export interface HttpExchange {
  readonly request: HttpRequest
  readonly responder: HttpResponder
  readonly accepts: AcceptedTypes
}

/** PORT, server side. What `transport/http/server` calls for every request to an endpoint. */
export type HttpHandler = (request: HttpRequest, responder: HttpResponder) => void

/** PORT, client side. A request to a remote server. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** Who takes the body of a reply. */
export interface BodyReader {
  /** The next piece; the bytes belong to the reader. */
  data(chunk: Buffer): void
  ended(fault: Fault | undefined): void
}

/**
 * PORT, client side. What comes of a request, after `send` returned; must not throw. Without an answer it
 * ends with a Fault (`unavailable`, `timeout`, `disconnected`); no HTTP status is one.
 */
export interface ReplyListener extends BodyReader {
  /** Status line and headers came; at most once. */
  head(status: number, headers: HttpHeaders): void
}

/** PORT, client side. A request and its reply, which may take hours. Silent after `discard` or `abort`. */
export interface OutboundExchange {
  /** Holds the sender back: no more than what is on its way already is told until `resume`. */
  pause(): void
  resume(): void
  /** Drops the rest of the reply: a short one is read, so that the connection can be used again. */
  discard(): void
  abort(): void
}

/** PORT, client side. */
export interface HttpClient {
  send(request: OutboundRequest, listener: ReplyListener): OutboundExchange
  close(): Promise<void>
}
