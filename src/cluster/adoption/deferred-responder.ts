import type { HttpResponder, HttpStream } from '../../wire/http.js'

/** Delays the answer to `initialize` until other replicas could resume the session. */
export class DeferredResponder implements HttpResponder {
  readonly #responder: HttpResponder
  readonly #opened: Promise<void>

  /** `opened` must not reject. */
  constructor(responder: HttpResponder, opened: Promise<void>) {
    this.#responder = responder
    this.#opened = opened
  }

  send(...sent: Parameters<HttpResponder['send']>): void {
    void this.#opened.then(() => this.#responder.send(...sent))
  }

  /** Not delayed, for clients that accept only streams: their next messages follow the answer anyway. */
  stream(...asked: Parameters<HttpResponder['stream']>): HttpStream {
    return this.#responder.stream(...asked)
  }

  onGone(then: () => void): void {
    this.#responder.onGone(then)
  }
}
