import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { Holding } from '../../../kernel/byte-account.js'
import { Fault } from '../../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, objectText, textOf } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { CancelReason, ServerRequest } from '../../../model/links.js'
import { type Answer, failed } from '../../../model/outcome.js'
import type { Outlet } from '../../../rpc/outlet.js'
import { withProgressToken } from '../../../rpc/progress-token.js'
import { encodeNotification, encodeRequest, idKey, isId } from '../../../wire/jsonrpc.js'
import type { LegacyInboundCall } from './inbound-call.js'

/** The time a question waits for a client that neither made a request nor reported to be ready. */
const READY_WAIT_MS = 10_000

/** A server request, and the bytes that are held for it. */
interface DeferredRequest {
  readonly request: ServerRequest
  readonly during: LegacyInboundCall | undefined
  readonly holding: Holding
}

interface OpenRequest extends DeferredRequest {
  readonly id: JsonText
  readonly undeliverable: () => void
  /** Stops watching whether the client is there. */
  release?: () => void
}

/**
 * Unanswered server requests, under ids of our own. They wait here until the client sends
 * `notifications/initialized` (basic/lifecycle: no server request but ping before that) or a request. Some
 * clients send neither: they are asked after `READY_WAIT_MS`.
 */
export class PendingServerRequests {
  readonly #outlet: Outlet
  readonly #bounds: LimitCounters
  /** Created with the first: few clients are ever asked anything. */
  #open: Map<string, OpenRequest> | undefined
  /** True until the client is ready. */
  isDeferring = true
  #deferred: readonly DeferredRequest[] = []
  readonly #clock: Clock
  #due: Timer | undefined

  constructor(outlet: Outlet, bounds: LimitCounters, clock: Clock) {
    this.#outlet = outlet
    this.#clock = clock
    this.#bounds = bounds
  }

  add(request: ServerRequest, during: LegacyInboundCall | undefined): void {
    const unanswered = (this.#open?.size ?? 0) + this.#deferred.length
    if (unanswered >= this.#bounds.max.questionsPerClient) {
      const reason = `The client has ${unanswered} unanswered requests`
      request.answer(failed(this.#bounds.overloaded('questionsPerClient', reason)))
      return
    }
    const holding = this.#bounds.unread.reserve(request.params?.length ?? 0)
    if (holding === undefined) {
      request.answer(failed(this.#bounds.overloaded('unread', 'Too many bytes wait for clients')))
    } else if (this.isDeferring) {
      this.#deferred = [...this.#deferred, { request, during, holding }]
      this.#due ??= this.#clock.after(READY_WAIT_MS, () => this.release())
      request.onWithdrawn = () => {
        holding.set(0)
        this.#deferred = this.#deferred.filter(held => held.request !== request)
      }
    } else {
      this.#send({ request, during, holding })
    }
  }

  /** Sends the deferred requests, because the client is ready. */
  release(): void {
    const held = this.#deferred
    this.#due?.cancel()
    this.isDeferring = false
    this.#deferred = []
    for (const one of held) this.#send(one)
  }

  /** Handles an answer of the client; late and forged ones are dropped. */
  answered(id: JsonText, outcome: Answer): void {
    const open = this.#take(idKey(id))
    if (open === undefined) return
    const isObject = outcome.kind !== 'result' || kindOf(outcome.result) === 'object'
    open.request.answer(
      isObject
        ? outcome
        : failed(new Fault('internal', 'The client answered with something other than an object')),
    )
  }

  /** Relays the client's progress to the server, under the server's token. */
  progress(params: JsonText): void {
    const token = memberOf(params, 'progressToken')
    if (token !== undefined && isId(token)) this.#open?.get(idKey(token))?.request.progress(params)
  }

  /** Answers every server request with `why`, instead of the client. */
  close(why: Fault): void {
    const all = [...(this.#open?.values() ?? []), ...this.#deferred]
    this.#due?.cancel()
    this.#open = undefined
    this.isDeferring = true
    this.#deferred = []
    for (const { request, holding } of all) {
      holding.set(0)
      request.answer(failed(why))
    }
  }

  #send(held: DeferredRequest): void {
    const { request, during } = held
    const minted = this.#outlet.nextRequestId()
    const id = textOf(minted)
    const key = idKey(id)
    const undeliverable = (): void => {
      if (this.#take(key) === undefined) return
      request.answer(failed(new Fault('unavailable', 'The client has no open stream for server requests')))
    }
    this.#open ??= new Map()
    const open: OpenRequest = { ...held, id, undeliverable }
    this.#open.set(key, open)
    request.onWithdrawn = reason => this.#withdraw(key, reason)
    const frame = encodeRequest(
      minted,
      request.method,
      withProgressToken(request.params, request.wantsProgress ? id : undefined),
    )
    if (during === undefined || !canAsk(during)) this.#outlet.request(frame, undeliverable)
    else if (during.replies.ask === undefined) during.replies.send(frame)
    else open.release = during.replies.ask(frame, undeliverable)
  }

  #withdraw(key: string, reason: CancelReason): void {
    const open = this.#take(key)
    if (open === undefined || this.#outlet.takeBack?.(open.undeliverable) === true) return
    const members: [string, JsonText][] = [['requestId', open.id]]
    if (reason !== undefined) members.push(['reason', textOf(reason)])
    const frame = encodeNotification('notifications/cancelled', objectText(members))
    if (open.during !== undefined && canAsk(open.during)) open.during.replies.send(frame)
    else this.#outlet.notify(frame, 'notifications/cancelled')
  }

  #take(key: string): OpenRequest | undefined {
    const open = this.#open?.get(key)
    this.#open?.delete(key)
    open?.holding.set(0)
    open?.release?.()
    return open
  }
}

const canAsk = ({ isOver, replies }: LegacyInboundCall): boolean => !isOver && replies.canAsk
