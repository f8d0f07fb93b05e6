/** Header names in lower case; a header that came several times is joined by ", " as RFC 9110 §5.3 says. */
export type HttpHeaders = Readonly<Record<string, string | undefined>>

/** PORT, server side. One request that passed the guards (Host, Origin, size); its body is complete. */
export interface HttpRequest {
  readonly method: string
  /** Path without query, as it came. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: HttpHeaders
  readonly body: Buffer
  /** Address of the peer, for the principal and the log. */
  readonly remoteAddress: string
}

/** Bytes with a few characters around them, such as an event: they are not copied only to stand in one piece. */
export interface Framed {
  /** Before the bytes; each character is a byte (latin1), as in `tail`. */
  readonly head: string
  readonly body: Buffer
  readonly tail: string
}

/** A response body that is written piece by piece, such as an SSE stream. */
export interface HttpStream {
  /** False: the peer is behind. Writing after the end or after the peer left does nothing. */
  write(chunk: Framed | Buffer | string): boolean
  end(): void
  readonly queuedBytes: number
  /** Cuts the connection without a proper end. */
  destroy(): void
}

/** PORT, server side. The one answer to an `HttpRequest`; exactly one of `send` and `stream` is called, once. */
export interface HttpResponder {
  send(status: number, headers: Readonly<Record<string, string>>, body?: Buffer | string): void
  /** `onTaken` is called whenever the operating system has taken some of what was written, so that `queuedBytes` is less. */
  stream(status: number, headers: Readonly<Record<string, string>>, onTaken?: () => void): HttpStream
  /** Calls `then` once when the connection goes away before the answer is complete. */
  onGone(then: () => void): void
}

/** One request, and the way to answer it. */
export interface HttpExchange {
  readonly request: HttpRequest
  readonly responder: HttpResponder
}

/** PORT, server side. What `transport/http-server` calls for every request to an endpoint. */
export type HttpHandler = (request: HttpRequest, responder: HttpResponder) => void

/** PORT, client side. A request to a remote server. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
}

/** PORT, client side. A reply whose body may stay silent for hours; not reading it holds the sender back. */
export interface InboundReply {
  readonly status: number
  readonly headers: HttpHeaders
  readonly body: AsyncIterable<Buffer>
  /** Throws the rest of the body away and frees the connection. */
  discard(): void
}

/** PORT, client side. Rejects with a Fault (`unavailable`, `timeout`, `cancelled`); an HTTP status is never a rejection. */
export interface HttpClient {
  send(request: OutboundRequest): Promise<InboundReply>
  close(): Promise<void>
}
