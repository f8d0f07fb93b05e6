import { at } from '../../../kernel/json/text.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import { LinkedList } from '../../../kernel/linked-list.js'
import type { HttpHostOptions } from '../../../rpc/host.js'
import { refuse } from '../../../rpc/http/errors.js'
import { tokenOf } from '../../../rpc/progress-token.js'
import type { HttpExchange, Taken } from '../../../wire/http.js'
import type { Message } from '../../../wire/jsonrpc.js'
import { META } from '../../protocol.js'
import { LISTEN } from './encode-outcome.js'
import { type AnswerForm, HttpAnswer } from './http-answer.js'
import { ModernUplink, type RequestMessage } from './uplink.js'

/** Serves an endpoint for this revision (basic/transports/streamable-http): every POST stands for itself. */
export class ModernHttpListener {
  readonly #options: HttpHostOptions
  readonly #uplink: ModernUplink
  readonly #open = new LinkedList<HttpAnswer>()
  readonly #bounds: LimitCounters
  #exchanges = 0

  constructor(options: HttpHostOptions) {
    this.#options = options
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#uplink = new ModernUplink(options, 'endpoint')
  }

  /** Takes a request or a notification. */
  message(message: Message & { kind: 'request' | 'notification' }, exchange: HttpExchange): void {
    if (message.kind === 'request') this.#request(message, exchange)
    // Over HTTP a client cancels by closing the stream (basic/patterns/cancellation).
    else exchange.responder.send(202, {})
  }

  /** Writes a keep-alive comment to every answer that is due. */
  keepAlive(): void {
    for (const answer of this.#open) answer.keepAlive()
  }

  /** Forgets clients that have been idle for long; called periodically. */
  sweep(): void {
    this.#uplink.sweep()
  }

  close(reason: string): void {
    this.#uplink.close(reason)
  }

  #request(message: RequestMessage, { request, responder, takes }: HttpExchange): void {
    const { headers } = request
    const form = formOf(message, takes)
    if (form === 'json' && message.method === LISTEN) {
      refuse(responder, 406, 'Accept must list text/event-stream', { id: message.id })
      return
    }
    const key = this.#nextKey()
    const answer = new HttpAnswer(responder, form, {
      log: this.#options.log,
      bounds: this.#bounds,
      open: this.#open,
    })
    const principal = this.#options.principalOf(request)
    this.#uplink.receive(message, { principal, replies: answer, key, headers })
    responder.onGone(() => this.#uplink.find(key)?.cancel('the client closed the stream'))
  }

  #nextKey(): string {
    this.#exchanges += 1
    return String(this.#exchanges)
  }
}

/** A stream where something may be said before the answer, as far as the client takes what would be best. */
const formOf = ({ method, params }: RequestMessage, takes: Taken): AnswerForm => {
  if (!takes.events) return 'json'
  if (!takes.json) return 'stream'
  const wantsMore =
    method === LISTEN ||
    tokenOf(params) !== undefined ||
    (params !== undefined && at(params, '_meta', META.logLevel) !== undefined)
  return wantsMore ? 'stream' : 'json-first'
}
