import { SSE_COMMENT, SSE_HEADERS } from '../../wire/framing/sse-write.js'
import { acceptedTypes } from '../../wire/http/headers.js'
import type { HttpRequest, HttpResponder, HttpStream } from '../../wire/http.js'
import type { RelayedExchange } from '../../wire/relay.js'

/** An exchange and its body, kept until its recipient is known. */
export class BufferedExchange {
  readonly request: HttpRequest
  readonly responder: HttpResponder
  readonly #open: OpenResponder
  readonly #serve: RelayedExchange['serve']
  isGone = false

  constructor({ request, responder, serve }: RelayedExchange) {
    const { method, path, query, headers, body, remoteAddress, remotePort, caller } = request
    this.request = { method, path, query, headers, body, remoteAddress, remotePort, caller }
    this.#open = new OpenResponder(responder)
    this.responder = this.#open
    this.#serve = serve
    responder.onGone(() => {
      this.isGone = true
    })
  }

  /** Serves it in this replica. */
  serve(): void {
    if (!this.isGone) this.#serve(this.request, this.responder)
  }

  /** Opens the stream early if the client waits for one: SDK clients give up after two failed attempts. */
  waits(): void {
    const { method, headers } = this.request
    if (method === 'GET' && acceptedTypes(headers).events) this.#open.open()
  }
}

/** A responder whose stream may open before the response is known. */
class OpenResponder implements HttpResponder {
  readonly #responder: HttpResponder
  #out: HttpStream | undefined
  #onTaken: (() => void) | undefined

  constructor(responder: HttpResponder) {
    this.#responder = responder
  }

  open(): void {
    if (this.#out !== undefined) return
    this.#out = this.#responder.stream(200, SSE_HEADERS, () => this.#onTaken?.())
    this.#out.write(SSE_COMMENT)
  }

  send(...sent: Parameters<HttpResponder['send']>): void {
    if (this.#out === undefined) this.#responder.send(...sent)
    // The client learns the status with its next attempt.
    else this.#out.end()
  }

  stream(...asked: Parameters<HttpResponder['stream']>): HttpStream {
    if (this.#out === undefined) return this.#responder.stream(...asked)
    this.#onTaken = asked[2]
    return this.#out
  }

  onGone(then: () => void): void {
    this.#responder.onGone(then)
  }
}
