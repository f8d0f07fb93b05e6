import { SSE_COMMENT, SSE_HEADERS } from '../../wire/framing/sse-write.js'
import { acceptedTypes } from '../../wire/http/headers.js'
import type { HttpRequest, HttpResponder, HttpStream } from '../../wire/http.js'
import type { RelayedExchange } from '../../wire/relay.js'

/** An exchange that is kept until it is known who serves it, with its body. */
export class HeldExchange {
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

  /** Serves it here. */
  serve(): void {
    if (!this.isGone) this.#serve(this.request, this.responder)
  }

  /**
   * Says that somebody is there, to a client that waits for a stream: SDK clients give up soon after two that
   * they did not get.
   */
  waits(): void {
    const { method, headers } = this.request
    if (method === 'GET' && acceptedTypes(headers).events) this.#open.open()
  }
}

/** An answer whose stream may have begun before anybody knew what comes. */
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
    // The next attempt is told.
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
