import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Link, LinkedList } from '../../../kernel/linked-list.js'
import type { Logger } from '../../../kernel/logger.js'
import { messageEvent, SSE_COMMENT, SSE_HEADERS } from '../../../wire/framing/sse-write.js'
import type { HttpResponder, HttpStream } from '../../../wire/http.js'
import { type OutgoingMessage, whole } from '../../../wire/message-parts.js'
import type { Ending, Replies } from './inbound-call.js'

const OK = 200

/** The form of an answer: what the client accepts, and what suits the request. */
export type AnswerForm =
  /** One JSON text; nothing else can be said about the request. */
  | 'json'
  /** JSON, or a stream if it takes long: something between us and the client may not wait for ever. */
  | 'json-first'
  /** A stream, for something is to be said before the answer. */
  | 'stream'

/** What the answers of one endpoint share. */
export interface AnswerContext {
  readonly log: Logger
  readonly bounds: LimitCounters
  /** Answers that are not complete, for keep-alive comments. */
  readonly open: LinkedList<HttpAnswer>
}

/**
 * The answer to one POST: JSON, or a stream that begins with the first message, so that a rejected request
 * still gets its status. A broken stream is lost along with its request (basic/transports/streamable-http).
 */
export class HttpAnswer implements Replies {
  readonly #responder: HttpResponder
  readonly #form: AnswerForm
  readonly #context: AnswerContext
  readonly #link: Link<HttpAnswer>
  #out: HttpStream | undefined
  /** Whether the client has waited since the last keep-alive. */
  #hasWaited = false
  #isOver = false

  constructor(responder: HttpResponder, form: AnswerForm, context: AnswerContext) {
    this.#responder = responder
    this.#form = form
    this.#context = context
    this.#link = context.open.add(this)
    responder.onGone(() => this.#close())
  }

  send(frame: Buffer, mayDrop = false): void {
    if (this.#isOver || this.#form !== 'stream') return
    const { bounds } = this.#context
    if (mayDrop && this.#out !== undefined && bounds.isOver('softQueue', this.#out.queuedBytes)) return
    this.#write(frame)
  }

  end(frame: OutgoingMessage | undefined, { status, headers }: Ending): void {
    if (this.#isOver) return
    const isEvent = this.#out !== undefined || (this.#form === 'stream' && status === OK)
    if (frame !== undefined && isEvent) this.#write(whole(frame))
    else if (frame !== undefined)
      this.#responder.send(status, { 'content-type': 'application/json', ...headers }, frame)
    this.#out?.end()
    this.#close()
  }

  /** Writes a keep-alive comment if the client has waited for long; called every few seconds. */
  keepAlive(): void {
    if (this.#isOver || this.#form === 'json') return
    if (this.#out !== undefined || this.#hasWaited) this.#stream().write(SSE_COMMENT)
    this.#hasWaited = true
  }

  #stream(): HttpStream {
    this.#out ??= this.#responder.stream(OK, SSE_HEADERS)
    return this.#out
  }

  #write(frame: Buffer): void {
    const out = this.#stream()
    const { queuedBytes } = out
    if (queuedBytes <= this.#context.bounds.max.streamQueue) {
      out.write(messageEvent(frame))
      return
    }
    this.#context.bounds.hit('streamQueue')
    this.#context.log.warn({ queuedBytes }, 'cut off a client that does not read its event stream')
    this.#out = undefined
    this.#close()
    // The request is cancelled by that, as by any end of its stream.
    out.destroy()
  }

  #close(): void {
    this.#isOver = true
    this.#context.open.remove(this.#link)
  }
}
