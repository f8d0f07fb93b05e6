import type { HttpResponder, HttpStream } from '../../../wire/http.js'

/** An answer that its client gets once others could go on with the session that it begins. */
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

  /** For a client that takes nothing else: what it says next comes after the answer. */
  stream(...asked: Parameters<HttpResponder['stream']>): HttpStream {
    return this.#responder.stream(...asked)
  }

  onGone(then: () => void): void {
    this.#responder.onGone(then)
  }
}
