import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import { type JsonText, kindOf, memberOf } from '../../kernel/json/text.js'
import type { Call, ServerRequest } from '../../model/links.js'
import { failed, type Outcome, succeeded } from '../../model/outcome.js'
import { canAnswerQuestions } from '../../model/peer.js'
import type { Connection } from '../../peers/connection.js'
import { type CallVerdict, type Interceptor, NEXT, type RoutedRecord } from '../calls/call-record.js'
import type { InFlightCall } from '../calls/in-flight-call.js'
import { bareAnswer, inputRequired, isAnswer } from './questions.js'
import { ASKABLE, type RequestStates } from './retry/request-states.js'

/** Maximum time that a request waits for a call of a suitable client, and then for the answer. */
const HOLD_MS = 30_000
const HELD_MAX = 8
/** Maximum time for a client to return. Its call is then sent on even if the server no longer waits. */
const STATE_MS = 600_000
const KEY = '1-1'
const ROOTS = 'roots/list'

interface Held {
  readonly id: string
  readonly requests: Set<ServerRequest>
  timer: Timer
  isAsked: boolean
}

/**
 * Defers `roots/list` for clients that only accept requests in results. Legacy servers often send it right
 * after initialization, when such a client cannot be asked. The client's first call to the server is answered
 * with the request, and sent on with the retry. Nothing is deferred once a call was sent, because the request
 * may belong to it, nor when several clients use the connection.
 */
export class DeferredRoots {
  readonly #clock: Clock
  readonly #states: RequestStates
  readonly #held = new Map<Connection, Held>()

  constructor(clock: Clock, states: RequestStates) {
    this.#clock = clock
    this.#states = states
  }

  get size(): number {
    return [...this.#held.values()].reduce((sum, { requests }) => sum + requests.size, 0)
  }

  /**
   * Defers a request that belongs to no call. Returns false unless the connection's only client can answer
   * it.
   */
  hold(connection: Connection, request: ServerRequest): boolean {
    const { onlyClient, hasCarried } = connection
    if (request.method !== ROOTS || onlyClient?.serverRequests !== 'returned' || hasCarried) return false
    if (onlyClient.capabilities.roots === undefined) return false
    const held = this.#held.get(connection) ?? this.#begin(connection)
    if (held.requests.size >= HELD_MAX) return false
    held.requests.add(request)
    request.onWithdrawn = () => {
      held.requests.delete(request)
      if (held.requests.size === 0) this.#end(connection)
    }
    return true
  }

  /** Answers the first call of a client that a server waits for with the server's request. */
  get interceptor(): Interceptor {
    const run = (record: RoutedRecord): CallVerdict =>
      record.retry === undefined && canAnswerQuestions(record.client.capabilities)
        ? (this.question(record.connection, record) ?? NEXT)
        : NEXT
    return { name: 'deferred roots', stage: 'routed', clients: 'returned', methods: ASKABLE, run }
  }

  question(connection: Connection, call: Call): Outcome | undefined {
    const held = this.#held.get(connection)
    if (held === undefined || held.isAsked || connection.onlyClient !== call.client) return undefined
    const facts = { kind: 'pre', parkId: held.id, replica: this.#states.replica } as const
    const state = this.#states.seal(call, connection.server.alias, facts, STATE_MS)
    held.isAsked = true
    held.timer.cancel()
    held.timer = this.#clock.after(HOLD_MS, () => this.#giveUp(connection))
    return { kind: 'input', result: inputRequired([{ key: KEY, method: ROOTS, params: undefined }], state) }
  }

  /** Returns the requests that waited for the first call over a connection: they belong to it. */
  firstCalled({ connection, call }: InFlightCall): readonly ServerRequest[] {
    const held = this.#held.get(connection)
    if (held === undefined || held.isAsked) return []
    if (connection.onlyClient !== call.client) {
      this.#giveUp(connection)
      return []
    }
    this.#end(connection)
    return [...held.requests]
  }

  /** Accepts a client's answers. Throws a Fault for malformed roots, without any effect. */
  answered(connection: Connection, id: string, responses: JsonText | undefined): void {
    const held = this.#held.get(connection)
    if (held?.id !== id || responses === undefined) return
    if (kindOf(responses) !== 'object') throw new Fault('invalid-params', 'inputResponses must be an object')
    const answer = memberOf(responses, KEY)
    if (answer === undefined) return
    if (!isAnswer(ROOTS, answer))
      throw new Fault('invalid-params', `inputResponses: ${KEY} is not an answer to ${ROOTS}`)
    this.#end(connection)
    for (const request of held.requests) request.answer(succeeded(bareAnswer(ROOTS, answer)))
  }

  close(): void {
    for (const connection of [...this.#held.keys()]) this.#giveUp(connection)
  }

  #begin(connection: Connection): Held {
    const timer = this.#clock.after(HOLD_MS, () => this.#giveUp(connection))
    const held = { id: randomId(), requests: new Set<ServerRequest>(), timer, isAsked: false }
    this.#held.set(connection, held)
    return held
  }

  #end(connection: Connection): void {
    this.#held.get(connection)?.timer.cancel()
    this.#held.delete(connection)
  }

  #giveUp(connection: Connection): void {
    const requests = this.#held.get(connection)?.requests ?? []
    this.#end(connection)
    for (const request of requests)
      request.answer(failed(new Fault('internal', 'Client did not provide input')))
  }
}
