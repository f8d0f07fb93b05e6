import type { Bounds } from '../../kernel/bounds.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, objectText, textOf } from '../../kernel/json-text.js'
import type { Ask, CancelReason } from '../../model/links.js'
import { type Answer, failed } from '../../model/outcome.js'
import type { Outlet } from '../../rpc/host.js'
import { withToken } from '../../rpc/progress-token.js'
import { encodeNotice, encodeRequest, idKey, isId } from '../../wire/jsonrpc.js'
import type { InboundCall } from './inbound-call.js'

interface OpenAsk {
  readonly ask: Ask
  readonly id: JsonText
  readonly during: InboundCall | undefined
}

/**
 * The questions that a client was asked and has not answered, under ids of our own; until the client has said that it
 * is ready (`notifications/initialized`) they wait here (basic/lifecycle: no server request but ping before that).
 */
export class AskTable {
  readonly #outlet: Outlet
  readonly #bounds: Bounds
  readonly #open = new Map<string, OpenAsk>()
  #held: (readonly [Ask, InboundCall | undefined])[] | undefined = []

  constructor(outlet: Outlet, bounds: Bounds) {
    this.#outlet = outlet
    this.#bounds = bounds
  }

  put(ask: Ask, during: InboundCall | undefined): void {
    const unanswered = this.#open.size + (this.#held?.length ?? 0)
    if (unanswered >= this.#bounds.max.questionsPerClient) {
      const words = `The client has ${unanswered} unanswered questions`
      ask.answer(failed(this.#bounds.overloaded('questionsPerClient', words)))
    } else if (this.#held !== undefined) {
      this.#held.push([ask, during])
      ask.onWithdrawn = () => {
        this.#held = this.#held?.filter(([held]) => held !== ask)
      }
    } else {
      this.#send(ask, during)
    }
  }

  /** The client is ready: what was held is asked. */
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const [ask, during] of held) this.#send(ask, during)
  }

  /** An answer of the client; one that names no open question is dropped (a forged or late one). */
  answered(id: JsonText, outcome: Answer): void {
    const open = this.#take(id)
    if (open === undefined) return
    const isObject = outcome.kind !== 'result' || kindOf(outcome.result) === 'object'
    open.ask.answer(
      isObject
        ? outcome
        : failed(new Fault('internal', 'The client answered with something that is no object')),
    )
  }

  /** The client's progress on a question, handed on under the server's token. */
  progress(params: JsonText): void {
    const token = memberOf(params, 'progressToken')
    if (token !== undefined && isId(token)) this.#open.get(idKey(token))?.ask.progress(params)
  }

  /** The client is gone: every question is answered in its place. */
  close(why: Fault): void {
    const asks = [
      ...[...this.#open.values()].map(open => open.ask),
      ...(this.#held ?? []).map(([ask]) => ask),
    ]
    this.#open.clear()
    this.#held = []
    for (const ask of asks) ask.answer(failed(why))
  }

  #send(ask: Ask, during: InboundCall | undefined): void {
    const minted = this.#outlet.nextAskId()
    const id = textOf(minted)
    const key = idKey(id)
    const open = { ask, id, during }
    this.#open.set(key, open)
    ask.onWithdrawn = reason => this.#withdraw(key, reason)
    const frame = encodeRequest(minted, ask.method, withToken(ask.params, ask.wantsProgress ? id : undefined))
    if (during !== undefined && canAsk(during)) during.replies.send(frame)
    else
      this.#outlet.ask(frame, () => {
        if (!this.#open.delete(key)) return
        ask.answer(failed(new Fault('unavailable', 'The client has no open stream to be asked on')))
      })
  }

  #withdraw(key: string, reason: CancelReason): void {
    const open = this.#open.get(key)
    if (open === undefined) return
    this.#open.delete(key)
    const members: [string, JsonText][] = [['requestId', open.id]]
    if (reason !== undefined) members.push(['reason', textOf(reason)])
    const frame = encodeNotice('notifications/cancelled', objectText(members))
    if (open.during !== undefined && canAsk(open.during)) open.during.replies.send(frame)
    else this.#outlet.tell(frame, 'notifications/cancelled')
  }

  #take(id: JsonText): OpenAsk | undefined {
    const key = idKey(id)
    const open = this.#open.get(key)
    this.#open.delete(key)
    return open
  }
}

const canAsk = ({ isOver, replies }: InboundCall): boolean => !isOver && replies.canAsk
