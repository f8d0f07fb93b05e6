import type { Caller, RenewCaller } from '../../../kernel/caller.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import { LISTEN } from '../../../model/links.js'
import type { ListenerOptions, OwnChallenge, ScopeChallenge } from '../../../rpc/host.js'
import { refuseForScopes, refuseRequest } from '../../../rpc/http/errors.js'
import { messageEvent, SSE_COMMENT, SSE_HEADERS } from '../../../wire/framing/sse-write.js'
import type { AcceptedTypes, HttpExchange, HttpResponder, HttpStream } from '../../../wire/http.js'
import { type Message, metaOf } from '../../../wire/jsonrpc.js'
import type { OutgoingMessage } from '../../../wire/message-parts.js'
import { cutOff } from '../../shared/cut-off.js'
import { readEnvelope } from '../envelope.js'
import type { CallEnding, Replies } from './inbound-call.js'
import { CANCELLED, ModernUplink, type RequestMessage } from './uplink.js'

/** Serves an endpoint for this revision (basic/transports/streamable-http): every POST is independent. */
export class ModernHttpListener {
  readonly #uplink: ModernUplink
  readonly #answers: AnswerContext
  #exchanges = 0

  constructor(options: ListenerOptions) {
    const { bounds = new LimitCounters(), log, challenge } = options
    this.#answers = { log, bounds, challenge }
    this.#uplink = new ModernUplink(options, 'endpoint')
  }

  /** Handles a request or a notification. */
  message(message: Message & { kind: 'request' | 'notification' }, exchange: HttpExchange): void {
    if (message.kind === 'request') {
      this.#request(message, exchange)
      return
    }
    // Over HTTP a client cancels by closing the stream (basic/patterns/cancellation).
    if (message.method !== CANCELLED) this.#uplink.notified(message, exchange.request.caller)
    exchange.responder.send(202, {})
  }

  keepAlive(): void {
    this.#uplink.keepAlive()
  }

  /** Ends expired requests; called periodically. */
  sweep(): void {
    this.#uplink.sweep()
  }

  renewCallers(renew: RenewCaller): void {
    this.#uplink.renewCallers(renew)
  }

  close(reason: string): void {
    this.#uplink.close(reason)
  }

  #request(message: RequestMessage, { request, responder, accepts }: HttpExchange): void {
    const { caller } = request
    const form = formOf(message, accepts)
    if (form === 'json' && message.method === LISTEN) {
      refuseRequest(responder, 406, 'Accept must list text/event-stream', { id: message.id })
      return
    }
    this.#exchanges += 1
    const key = String(this.#exchanges)
    const gone = (): void => this.#uplink.find(key)?.cancel('the client closed the stream')
    const replies = new HttpAnswer({ responder, caller, gone }, form, this.#answers)
    this.#uplink.receive(message, { caller, replies, key, arrival: request })
  }
}

/** Chooses a stream if notifications were requested, as far as the client accepts it. */
const formOf = (message: RequestMessage, takes: AcceptedTypes): AnswerForm => {
  if (!takes.events) return 'json'
  if (!takes.json) return 'stream'
  const check = readEnvelope(metaOf(message))
  const envelope = check.is === 'fine' ? check.envelope : undefined
  const wantsMore =
    message.method === LISTEN || envelope?.token !== undefined || envelope?.logLevel !== undefined
  return wantsMore ? 'stream' : 'json-first'
}

/** The form of an answer, depending on the client's `Accept` and the request. */
type AnswerForm =
  /** JSON, without notifications. */
  | 'json'
  /** JSON, or a stream if it takes long, so that intermediaries do not time out. */
  | 'json-first'
  /** A stream, because notifications are likely. */
  | 'stream'

/** The recipient of an answer. */
interface Asker {
  readonly responder: HttpResponder
  readonly caller: Caller
  /** Called if the client no longer waits. */
  readonly gone: () => void
}

/** State shared by the answers of one endpoint. */
export interface AnswerContext {
  readonly log: Logger
  readonly bounds: LimitCounters
  readonly challenge: ScopeChallenge | undefined
}

/**
 * The answer to one POST: JSON, or a stream that starts with the first message, so that a rejected request
 * still gets its status. A broken stream is lost along with its request (basic/transports/streamable-http).
 *
 * @internal
 */
export class HttpAnswer implements Replies {
  readonly #responder: HttpResponder
  readonly #form: AnswerForm
  readonly #context: AnswerContext
  readonly #caller: Caller
  #out: HttpStream | undefined
  /** True if the client has waited since the last keep-alive. */
  #hasWaited = false
  #isOver = false

  constructor({ responder, caller, gone }: Asker, form: AnswerForm, context: AnswerContext) {
    this.#responder = responder
    this.#form = form
    this.#context = context
    this.#caller = caller
    responder.onGone(() => {
      this.#isOver = true
      gone()
    })
  }

  send(frame: OutgoingMessage, mayDrop = false): void {
    if (this.#isOver || this.#form === 'json') return
    const { bounds } = this.#context
    if (mayDrop && this.#out !== undefined && bounds.isOver('softQueue', this.#out.queuedBytes)) return
    this.#write(frame)
  }

  end(frame: OutgoingMessage | undefined, { status, headers, why }: CallEnding): void {
    if (this.#isOver) return
    const challenge: OwnChallenge = scopes => this.#context.challenge?.(scopes, this.#caller)
    if (this.#out === undefined && refuseForScopes(this.#responder, why, challenge)) {
      this.#isOver = true
      return
    }
    const isEvent = this.#out !== undefined || (this.#form === 'stream' && status === 200)
    if (frame !== undefined && isEvent) this.#write(frame)
    else if (frame !== undefined)
      this.#responder.send(status, { 'content-type': 'application/json', ...headers }, frame)
    this.#out?.end()
    this.#isOver = true
  }

  /** Writes a keep-alive comment if the client has waited for long; called every few seconds. */
  keepAlive(): void {
    if (this.#isOver || this.#form === 'json') return
    if (this.#out !== undefined || this.#hasWaited) this.#stream().write(SSE_COMMENT)
    this.#hasWaited = true
  }

  #stream(): HttpStream {
    this.#out ??= this.#responder.stream(200, SSE_HEADERS)
    return this.#out
  }

  #write(frame: OutgoingMessage): void {
    const out = this.#stream()
    if (out.queuedBytes <= this.#context.bounds.max.streamQueue) {
      out.write(messageEvent(frame))
      return
    }
    this.#out = undefined
    this.#isOver = true
    // Cancels the request, like any end of its stream.
    cutOff(out, this.#context)
  }
}
