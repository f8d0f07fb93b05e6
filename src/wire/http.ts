import type { Caller } from '../kernel/caller.js'
import type { Fault } from '../kernel/faults.js'
import type { OutgoingMessage } from './message-parts.js'

/** Header names in lower case; repeated headers are joined by ", " (RFC 9110 §5.3). */
export type HttpHeaders = Readonly<Record<string, string | undefined>>

/**
 * PORT, server side. One request that passed the guards (Host, Origin, size, credential), with its complete
 * body.
 */
export interface HttpRequest {
  readonly method: string
  /** The path without query, not decoded. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: HttpHeaders
  /** Valid until the handler returns; copy everything needed later. */
  readonly body: Buffer
  readonly remoteAddress: string
  readonly remotePort: number | undefined
  readonly caller: Caller
}

export interface HttpStream {
  /** Returns false if the peer is behind. Does nothing after the end or once the peer has left. */
  write(chunk: OutgoingMessage | string): boolean
  end(): void
  readonly queuedBytes: number
  /** Closes the connection without completing the response. */
  destroy(): void
}

/** PORT, server side. The response to an `HttpRequest`; either `send` or `stream` is called, once. */
export interface HttpResponder {
  send(status: number, headers: Readonly<Record<string, string>>, body?: OutgoingMessage | string): void
  /** `onTaken` is called whenever the operating system accepts written bytes. */
  stream(status: number, headers: Readonly<Record<string, string>>, onTaken?: () => void): HttpStream
  /** Calls `then` once if the connection closes before the response is complete. */
  onGone(then: () => void): void
}

/** The response formats that a client accepts. */
export interface AcceptedTypes {
  readonly json: boolean
  readonly events: boolean
}

export interface HttpExchange {
  readonly request: HttpRequest
  readonly responder: HttpResponder
  readonly accepts: AcceptedTypes
}

/** PORT, server side. Called by `transport/http/server` for every request to an endpoint. */
export type HttpHandler = (request: HttpRequest, responder: HttpResponder) => void

/** PORT, client side. A request to a remote server. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** Opens a connection of its own: a kept one closed while this request was sent. */
  readonly onNewConnection?: boolean
  /** Belongs to a session that worked before, so that a 401 without a challenge concerns the session. */
  readonly hasWorked?: boolean
}

/** Receives the body of a reply. */
export interface BodyReader {
  /** The next chunk; the reader owns the bytes. */
  data(chunk: Buffer): void
  ended(fault: Fault | undefined): void
}

/**
 * PORT, client side. Receives the reply to a request, after `send` returned; must not throw. Without a reply
 * it ends with a Fault (`unavailable`, `timeout`, `disconnected`); an HTTP status is never a Fault.
 */
export interface ReplyListener extends BodyReader {
  /** The status line and headers arrived; at most once. `statusText` is empty over HTTP/2. */
  head(status: number, headers: HttpHeaders, statusText?: string): void
}

/** PORT, client side. A request and its reply, which may take hours. Silent after `discard` or `abort`. */
export interface OutboundExchange {
  /** Stops reading; data already in transit may still arrive before `resume`. */
  pause(): void
  resume(): void
  /** Drops the rest of the reply; a short one is read, so that the connection can be reused. */
  discard(): void
  abort(): void
}

/** PORT, client side. */
export interface HttpClient {
  send(request: OutboundRequest, listener: ReplyListener): OutboundExchange
  close(): Promise<void>
}
