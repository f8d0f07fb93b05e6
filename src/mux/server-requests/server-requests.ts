import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { mayHold } from '../../kernel/json/edit.js'
import { type JsonText, textMember, textOf } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import type { Client, Downlink, Request, ServerRequest } from '../../model/links.js'
import { type Answer, failed, type Outcome } from '../../model/outcome.js'
import type { Connection } from '../../peers/connection.js'
import type { CallTable } from '../calls/call-table.js'
import type { CallHandle, InFlightCall } from '../calls/in-flight-call.js'
import { mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import { planAsIs, planRound, retryParams } from '../input-required/rounds/input-rounds.js'
import { relayedInput } from '../input-required/rounds/relayed-input.js'
import { type CallRunner, ROUND_LIMITS, RoundDriver } from '../input-required/rounds/round-driver.js'
import type { UrlElicitations } from '../input-required/url-elicitations.js'
import { callFollowing } from '../tasks/following-tasks.js'
import type { TaskOptions } from '../tasks/task-driver.js'
import { relatedTask, withoutTask } from '../tasks/task-state.js'
import { type AskedCapability, capabilityFor, hasCapability, incapable } from './client-capabilities.js'
import type { DeferredRoots } from './deferred-roots.js'
import { type Evidence, originOf } from './origin.js'
import { PassedRequest, withoutContext } from './passed-request.js'

const NOBODY = 'No client request is associated with this request'

/** Observes a request that a server makes of a client; what it returns is called with the answer, or without one if withdrawn. */
export type OnAsked = (question: {
  readonly server: string
  readonly method: string
  readonly client: Client
}) => (answer: Answer | undefined) => void

/** Where a server request goes. */
interface Passage {
  readonly client: Client
  /** The call it belongs to, if any. */
  readonly inFlight: InFlightCall | undefined
  readonly isRepaired: boolean
}

/** What server requests depend on. */
export interface ServerRequestsContext {
  readonly calls: CallTable
  readonly states: RequestStates
  readonly urlElicitations: UrlElicitations
  readonly deferredRoots: DeferredRoots
  readonly clock: Clock
  readonly log: Logger
  readonly onAsked?: OnAsked | undefined
  /** Whether there are several servers, so that `includeContext` would hand one server's context to another. */
  readonly isShared: () => boolean
}

/**
 * Requests of servers to clients: sampling, elicitation, roots. Each reaches the one client it is for; if there is no such client,
 * the server gets an error at once.
 *
 * |                     | the server pushes its questions    | the server returns them                          |
 * | the client is asked | relayed, on the stream of its call | asked by us, the request made again (RoundDriver) |
 * | it is returned them | its call is parked (Park)          | relayed, with the server's state in ours          |
 */
export class ServerRequests {
  readonly #context: ServerRequestsContext
  readonly #open = new Map<Connection, number>()

  constructor(context: ServerRequestsContext) {
    this.#context = context
  }

  /** How many requests wait for an answer. */
  get size(): number {
    const passed = [...this.#open.values()].reduce((sum, count) => sum + count, 0)
    return passed + this.#context.deferredRoots.size
  }

  // ── pushed by servers ──

  handle(connection: Connection, request: ServerRequest): void {
    if (!this.#hasRoom(connection, request)) return
    const ability = capabilityFor(request)
    if (!hasCapability(connection.share.capabilities, ability)) {
      request.answer(failed(incapable(request)))
      return
    }
    const evidence = this.#evidence(connection, request)
    const origin = originOf(evidence)
    switch (origin.is) {
      case 'call':
        this.#askIn(origin.call, request, ability)
        return
      case 'client':
        if (hasCapability(origin.client.capabilities, ability))
          this.#push(connection, request, origin.client, undefined)
        else request.answer(failed(incapable(request)))
        return
      case 'ambiguous':
        this.#refuse(connection, request, 'No single client request is associated with this request')
        return
      case 'none':
        if (evidence.about === undefined && this.#context.deferredRoots.hold(connection, request)) return
        this.#refuse(connection, request, NOBODY)
    }
  }

  /** Handles a request that belongs to a call. A client with returned requests gets them in the results of only a few methods. */
  #askIn(inFlight: InFlightCall, request: ServerRequest, ability: AskedCapability): void {
    const { connection, call } = inFlight
    const isReturned = call.client.serverRequests === 'returned'
    if (isReturned && !mayNeedInput(call.method)) this.#refuse(connection, request, NOBODY)
    else if (!hasCapability(call.client.capabilities, ability)) request.answer(failed(incapable(request)))
    else if (isReturned) this.#pass(connection, request, { client: call.client, inFlight, isRepaired: true })
    else this.#push(connection, request, call.client, inFlight)
  }

  /** Collects what is known about the origin of a request; the task it names counts where its stream says nothing. */
  #evidence(connection: Connection, request: ServerRequest): Evidence<Client, InFlightCall> {
    const { calls } = this.#context
    const evidence = calls.evidence(connection, request.about)
    const { about } = evidence
    const isTold = about !== undefined && about !== 'another'
    return isTold
      ? evidence
      : { ...evidence, about: calls.ofTask(connection, relatedTask(request.params)) ?? about }
  }

  // ── returned by servers ──

  /** Sends the request of a call to its server, so that the client can be asked for input in its own way. */
  send(inFlight: InFlightCall, link: Downlink, request: Request): CallHandle {
    const { client } = inFlight.call
    // Few calls become tasks: the options are made when one does.
    const taskOptions = (): TaskOptions => this.#taskOptions(inFlight)
    if (
      client.serverRequests !== 'pushed' ||
      link.serverRequests === 'pushed' ||
      !mayNeedInput(request.method)
    )
      return callFollowing(link, request, inFlight, taskOptions)
    const following: CallRunner = { call: (one, sink) => callFollowing(link, one, sink, taskOptions) }
    const driver = new RoundDriver(following, firstOf(request), inFlight, {
      ...this.#askingIn(inFlight),
      isSequential: false,
      limits: ROUND_LIMITS,
    })
    driver.start()
    return driver
  }

  #askingIn(inFlight: InFlightCall) {
    const { clock, isShared } = this.#context
    const { client } = inFlight.call
    return {
      server: inFlight.connection.server.name,
      clock,
      account: inFlight.connection.bounds.unread,
      ask: (request: ServerRequest) => this.#askFor(inFlight, request),
      elicitationComplete: (elicitationId: string) =>
        inFlight.call.notify('notifications/elicitation/complete', textOf({ elicitationId })),
      project: (method: string, params: JsonText | undefined) => client.project(method, params, isShared()),
    }
  }

  #taskOptions(inFlight: InFlightCall): TaskOptions {
    const about = this.#askingIn(inFlight)
    const { capabilities, serverRequests } = inFlight.call.client
    const isAsked = serverRequests === 'pushed'
    return {
      ...about,
      waitMs: isAsked ? ROUND_LIMITS.roundMs : ROUND_LIMITS.totalMs,
      plan: result => (isAsked ? planRound(result, about) : planAsIs(result, about.server, capabilities)),
      stillAlive: () => inFlight.stillAlive(),
    }
  }

  /** Relays an `InputRequiredResult` to a client that knows it. Throws a Fault for what the client must not be asked. */
  relay(inFlight: InFlightCall, result: JsonText): Outcome {
    const { states, isShared } = this.#context
    const relaying = { states, isShared: isShared() }
    return {
      kind: 'input',
      result: relayedInput(result, inFlight.call, inFlight.connection.server, relaying),
    }
  }

  // ── on to the client ──

  /** Passes on one of the requests that a server returned. */
  #askFor(inFlight: InFlightCall, request: ServerRequest): void {
    const { connection, call } = inFlight
    if (!this.#hasRoom(connection, request)) return
    this.#pass(connection, request, { client: call.client, inFlight, isRepaired: false })
  }

  #push(
    connection: Connection,
    request: ServerRequest,
    client: Client,
    inFlight: InFlightCall | undefined,
  ): void {
    const id = request.params && textMember(request.params, 'elicitationId')
    if (id !== undefined) this.#context.urlElicitations.shown(connection, client, id)
    this.#pass(connection, request, { client, inFlight, isRepaired: true })
  }

  #pass(connection: Connection, request: ServerRequest, passage: Passage): void {
    const { client, inFlight } = passage
    const passed = this.#passed(connection, request, passage)
    if (client.serverRequests === 'pushed') {
      inFlight?.serverRequested(passed)
      client.ask(passed, inFlight?.call)
    } else if (inFlight?.parked?.ask(passed, inFlight) !== true) passed.answer(failed(incapable(passed)))
  }

  /** Limits the time of a request that belongs to no call, since it does not end with one. */
  #limitTime(passed: PassedRequest, { bounds }: Connection): Timer {
    const ms = bounds.max.questionTime
    return this.#context.clock.after(ms, () => {
      bounds.hit('questionTime')
      const words = `No answer within ${Math.round(ms / 1000)} s`
      passed.onWithdrawn?.('timed out')
      passed.answer(failed(new Fault('timeout', words, { data: { limit: 'questionTime', max: ms } })))
    })
  }

  #passed(
    connection: Connection,
    request: ServerRequest,
    { client, inFlight, isRepaired }: Passage,
  ): PassedRequest {
    this.#open.set(connection, (this.#open.get(connection) ?? 0) + 1)
    let limit: Timer | undefined
    const observer = this.#context.onAsked?.({
      server: connection.server.name,
      method: request.method,
      client,
    })
    const over = (outcome: Answer | undefined): void => {
      limit?.cancel()
      this.#closeOne(connection)
      inFlight?.answered(passed)
      observer?.(outcome)
    }
    const passed = new PassedRequest(request, { params: this.#paramsFor(request), isRepaired, over })
    if (inFlight === undefined) limit = this.#limitTime(passed, connection)
    return passed
  }

  #refuse(connection: Connection, request: ServerRequest, words: string): void {
    this.#context.log.warn(
      { server: connection.server.name, method: request.method },
      `refused a server request: ${words}`,
    )
    request.answer(failed(new Fault('invalid-params', words)))
  }

  /** Whether one more request of a server may wait; if not, it has been answered with an error. */
  #hasRoom(connection: Connection, request: ServerRequest): boolean {
    const { bounds } = connection
    const max = bounds.max.questionsPerServer
    if ((this.#open.get(connection) ?? 0) < max) return true
    const why = bounds.overloaded('questionsPerServer', `${max} questions are unanswered`, {
      server: connection.server.name,
    })
    request.answer(failed(why))
    return false
  }

  #closeOne(connection: Connection): void {
    const count = (this.#open.get(connection) ?? 1) - 1
    if (count === 0) this.#open.delete(connection)
    else this.#open.set(connection, count)
  }

  #paramsFor(request: ServerRequest): JsonText | undefined {
    const params = request.params && withoutTask(request.params)
    const isSampling = request.method === 'sampling/createMessage'
    return this.#context.isShared() && isSampling && params !== undefined ? withoutContext(params) : params
  }
}

/** Removes answers and state from the request of a session, which has no say in requests that a server returned. */
const firstOf = (request: Request): Request =>
  request.params !== undefined && mayHold(request.params, '"inputResponses"', '"requestState"')
    ? { ...request, params: retryParams(request.params, undefined, undefined) }
    : request
