import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { unguessableId } from '../../kernel/ids.js'
import { type JsonText, kindOf, memberOf } from '../../kernel/json/text.js'
import type { Call, ServerRequest } from '../../model/links.js'
import { failed, type Outcome, resulted } from '../../model/outcome.js'
import type { Connection } from '../../peers/connection.js'
import type { InFlightCall } from '../calls/in-flight-call.js'
import { bareAnswer, isAnswer } from '../input-required/answers.js'
import { inputRequired } from '../input-required/requests.js'
import type { RequestStates } from '../input-required/retry/request-states.js'
import { hasCapability } from './client-capabilities.js'

/** How long a server waits for somebody whom it can be answered by; then as long again for the answer. */
const HOLD_MS = 30_000
/** Questions that one connection may have waiting. */
const HELD_MAX = 8
/** How long a client may take to come back; later than the server waits, its request is sent on all the same. */
const STATE_MS = 600_000
const KEY = '1-1'
const ROOTS = 'roots/list'

interface Held {
  readonly id: string
  readonly asks: Set<ServerRequest>
  timer: Timer
  /** A client has been asked on behalf of them. */
  isAsked: boolean
}

/**
 * Servers of the legacy era like to ask for the roots as soon as they are initialized. Clients that are asked only in answers
 * to their requests cannot be asked then: the first of their requests that goes to the server is answered with the question,
 * and sent on when it comes back with the roots. Once a request was sent the question may be about that one, and once two clients
 * use the connection it may be either's: then nothing is held.
 */
export class DeferredRoots {
  readonly #clock: Clock
  readonly #states: RequestStates
  readonly #held = new Map<Connection, Held>()

  constructor(clock: Clock, states: RequestStates) {
    this.#clock = clock
    this.#states = states
  }

  /** How many questions wait. */
  get size(): number {
    return [...this.#held.values()].reduce((sum, { asks }) => sum + asks.size, 0)
  }

  /** Keeps a question about roots that can be no call's; false unless there is one client whose alone it is, and who can answer it. */
  hold(connection: Connection, ask: ServerRequest): boolean {
    const { onlyClient, hasCarried } = connection
    if (ask.method !== ROOTS || onlyClient?.serverRequests !== 'returned' || hasCarried) return false
    if (!hasCapability(onlyClient.capabilities, 'roots')) return false
    const held = this.#held.get(connection) ?? this.#begin(connection)
    if (held.asks.size >= HELD_MAX) return false
    held.asks.add(ask)
    ask.onWithdrawn = () => {
      held.asks.delete(ask)
      if (held.asks.size === 0) this.#end(connection)
    }
    return true
  }

  /** What a call that goes to a server must be answered with first; undefined if nothing waits for its client. */
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

  /**
   * A call was sent over a connection that had carried none: what waits there and was put to nobody yet. It is the call's if that is
   * of the client that was there alone.
   */
  firstCalled({ connection, call }: InFlightCall): readonly ServerRequest[] {
    const held = this.#held.get(connection)
    if (held === undefined || held.isAsked) return []
    if (connection.onlyClient !== call.client) {
      this.#giveUp(connection)
      return []
    }
    this.#end(connection)
    return [...held.asks]
  }

  /** A client came back with its answers. Throws a Fault if the one that counts is no answer; then nothing has changed. */
  answered(connection: Connection, id: string, responses: JsonText | undefined): void {
    const held = this.#held.get(connection)
    if (held?.id !== id || responses === undefined) return
    if (kindOf(responses) !== 'object') throw new Fault('invalid-params', 'inputResponses must be an object')
    const answer = memberOf(responses, KEY)
    if (answer === undefined) return
    if (!isAnswer(ROOTS, answer))
      throw new Fault('invalid-params', `inputResponses: ${KEY} is no answer to ${ROOTS}`)
    this.#end(connection)
    for (const ask of held.asks) ask.answer(resulted(bareAnswer(ROOTS, answer)))
  }

  /** Answers all that waits, with an error. */
  close(): void {
    for (const connection of [...this.#held.keys()]) this.#giveUp(connection)
  }

  #begin(connection: Connection): Held {
    const timer = this.#clock.after(HOLD_MS, () => this.#giveUp(connection))
    const held = { id: unguessableId(), asks: new Set<ServerRequest>(), timer, isAsked: false }
    this.#held.set(connection, held)
    return held
  }

  #end(connection: Connection): void {
    this.#held.get(connection)?.timer.cancel()
    this.#held.delete(connection)
  }

  #giveUp(connection: Connection): void {
    const asks = this.#held.get(connection)?.asks ?? []
    this.#end(connection)
    for (const ask of asks) ask.answer(failed(new Fault('internal', 'Client did not provide input')))
  }
}
