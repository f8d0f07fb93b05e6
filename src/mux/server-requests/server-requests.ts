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

/** Looks on when a server asks a client something. */
export type OnAsked = (question: {
  readonly server: string
  readonly method: string
  readonly client: Client
}) => (answer: Answer | undefined) => void

/** How a question goes to whom. */
interface Passage {
  readonly client: Client
  /** The call that it belongs to, if any. */
  readonly live: InFlightCall | undefined
  readonly isRepaired: boolean
}

/** What asking needs of the router. */
export interface ServerRequestsContext {
  readonly calls: CallTable
  readonly states: RequestStates
  readonly urlElicitations: UrlElicitations
  readonly deferredRoots: DeferredRoots
  readonly clock: Clock
  readonly log: Logger
  /** Told that a client is asked something; told by what it returns how that ended, without an answer if the server withdrew it. */
  readonly onAsked?: OnAsked | undefined
  /** Whether servers stand side by side, so that `includeContext` would hand one server's context to another. */
  readonly isShared: () => boolean
}

/**
 * What servers ask of people: sampling, elicitation, roots. Each question reaches the one client that it is for, or nobody;
 * a server whose question nobody may see gets an error at once.
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

  /** How many questions wait for an answer. */
  get size(): number {
    const passed = [...this.#open.values()].reduce((sum, count) => sum + count, 0)
    return passed + this.#context.deferredRoots.size
  }

  // ── questions that servers push ──

  handle(connection: Connection, ask: ServerRequest): void {
    if (!this.#hasRoom(connection, ask)) return
    const ability = capabilityFor(ask)
    if (!hasCapability(connection.share.capabilities, ability)) {
      ask.answer(failed(incapable(ask)))
      return
    }
    const evidence = this.#evidence(connection, ask)
    const origin = originOf(evidence)
    switch (origin.is) {
      case 'call':
        this.#askIn(origin.call, ask, ability)
        return
      case 'client':
        if (hasCapability(origin.client.capabilities, ability))
          this.#push(connection, ask, origin.client, undefined)
        else ask.answer(failed(incapable(ask)))
        return
      case 'ambiguous':
        this.#refuse(connection, ask, 'No single client request is associated with this request')
        return
      case 'none':
        if (evidence.about === undefined && this.#context.deferredRoots.hold(connection, ask)) return
        this.#refuse(connection, ask, NOBODY)
    }
  }

  /** A question in the course of a call; a client that is asked in answers can be so only in those to a few requests. */
  #askIn(live: InFlightCall, ask: ServerRequest, ability: AskedCapability): void {
    const { connection, call } = live
    const isReturned = call.client.serverRequests === 'returned'
    if (isReturned && !mayNeedInput(call.method)) this.#refuse(connection, ask, NOBODY)
    else if (!hasCapability(call.client.capabilities, ability)) ask.answer(failed(incapable(ask)))
    else if (isReturned) this.#pass(connection, ask, { client: call.client, live, isRepaired: true })
    else this.#push(connection, ask, call.client, live)
  }

  /** What is known about where a question comes from; the task that it names counts where its stream says nothing. */
  #evidence(connection: Connection, ask: ServerRequest): Evidence<Client, InFlightCall> {
    const { calls } = this.#context
    const evidence = calls.evidence(connection, ask.about)
    const { about } = evidence
    const isTold = about !== undefined && about !== 'another'
    return isTold
      ? evidence
      : { ...evidence, about: calls.ofTask(connection, relatedTask(ask.params)) ?? about }
  }

  // ── questions that servers return ──

  /** Makes the request of a live call at its server, in such a way that its client can answer questions there. */
  send(live: InFlightCall, link: Downlink, request: Request): CallHandle {
    const { client } = live.call
    // Few calls become tasks: what following one takes is made when one does.
    const taskOptions = (): TaskOptions => this.#taskOptions(live)
    if (
      client.serverRequests !== 'pushed' ||
      link.serverRequests === 'pushed' ||
      !mayNeedInput(request.method)
    )
      return callFollowing(link, request, live, taskOptions)
    const following: CallRunner = { call: (one, sink) => callFollowing(link, one, sink, taskOptions) }
    const driver = new RoundDriver(following, firstOf(request), live, {
      ...this.#askingIn(live),
      isSequential: false,
      limits: ROUND_LIMITS,
    })
    driver.start()
    return driver
  }

  #askingIn(live: InFlightCall) {
    const { clock, isShared } = this.#context
    const { client } = live.call
    return {
      server: live.connection.server.name,
      clock,
      account: live.connection.bounds.unread,
      ask: (ask: ServerRequest) => this.#askFor(live, ask),
      elicitationComplete: (elicitationId: string) =>
        live.call.notify('notifications/elicitation/complete', textOf({ elicitationId })),
      project: (method: string, params: JsonText | undefined) => client.project(method, params, isShared()),
    }
  }

  #taskOptions(live: InFlightCall): TaskOptions {
    const about = this.#askingIn(live)
    const { capabilities, serverRequests } = live.call.client
    const isAsked = serverRequests === 'pushed'
    return {
      ...about,
      waitMs: isAsked ? ROUND_LIMITS.roundMs : ROUND_LIMITS.totalMs,
      plan: wish => (isAsked ? planRound(wish, about) : planAsIs(wish, about.server, capabilities)),
      stillAlive: () => live.stillAlive(),
    }
  }

  /** What a server returned that wants input, for a client that is asked in that way. Throws a Fault where it must not be. */
  relay(live: InFlightCall, result: JsonText): Outcome {
    const { states, isShared } = this.#context
    const relaying = { states, isShared: isShared() }
    return { kind: 'input', result: relayedInput(result, live.call, live.connection.server, relaying) }
  }

  // ── on the way ──

  /** A question that a server returned, for a client that gets it in its own way. */
  #askFor(live: InFlightCall, ask: ServerRequest): void {
    const { connection, call } = live
    if (!this.#hasRoom(connection, ask)) return
    this.#pass(connection, ask, { client: call.client, live, isRepaired: false })
  }

  #push(connection: Connection, ask: ServerRequest, client: Client, live: InFlightCall | undefined): void {
    const id = ask.params && textMember(ask.params, 'elicitationId')
    if (id !== undefined) this.#context.urlElicitations.shown(connection, client, id)
    this.#pass(connection, ask, { client, live, isRepaired: true })
  }

  #pass(connection: Connection, ask: ServerRequest, passage: Passage): void {
    const { client, live } = passage
    const passed = this.#passed(connection, ask, passage)
    if (client.serverRequests === 'pushed') {
      live?.serverRequested(passed)
      client.ask(passed, live?.call)
    } else if (live?.park?.ask(passed, live) !== true) passed.answer(failed(incapable(passed)))
  }

  /** A question that belongs to no call ends with none: it has a time of its own. */
  #limitTime(passed: PassedRequest, { bounds }: Connection): Timer {
    const ms = bounds.max.questionTime
    return this.#context.clock.after(ms, () => {
      bounds.hit('questionTime')
      const words = `No answer within ${Math.round(ms / 1000)} s`
      passed.onWithdrawn?.('timed out')
      passed.answer(failed(new Fault('timeout', words, { data: { limit: 'questionTime', max: ms } })))
    })
  }

  #passed(connection: Connection, ask: ServerRequest, { client, live, isRepaired }: Passage): PassedRequest {
    this.#open.set(connection, (this.#open.get(connection) ?? 0) + 1)
    let limit: Timer | undefined
    const tell = this.#context.onAsked?.({ server: connection.server.name, method: ask.method, client })
    const over = (outcome: Answer | undefined): void => {
      limit?.cancel()
      this.#closeOne(connection)
      live?.answered(passed)
      tell?.(outcome)
    }
    const passed = new PassedRequest(ask, { params: this.#paramsFor(ask), isRepaired, over })
    if (live === undefined) limit = this.#limitTime(passed, connection)
    return passed
  }

  #refuse(connection: Connection, ask: ServerRequest, words: string): void {
    this.#context.log.warn(
      { server: connection.server.name, method: ask.method },
      `refused a question: ${words}`,
    )
    ask.answer(failed(new Fault('invalid-params', words)))
  }

  /** Whether one more question of a server may wait; else it is answered. */
  #hasRoom(connection: Connection, ask: ServerRequest): boolean {
    const { bounds } = connection
    const max = bounds.max.questionsPerServer
    if ((this.#open.get(connection) ?? 0) < max) return true
    const why = bounds.overloaded('questionsPerServer', `${max} questions are unanswered`, {
      server: connection.server.name,
    })
    ask.answer(failed(why))
    return false
  }

  #closeOne(connection: Connection): void {
    const count = (this.#open.get(connection) ?? 1) - 1
    if (count === 0) this.#open.delete(connection)
    else this.#open.set(connection, count)
  }

  #paramsFor(ask: ServerRequest): JsonText | undefined {
    const params = ask.params && withoutTask(ask.params)
    const isSampling = ask.method === 'sampling/createMessage'
    return this.#context.isShared() && isSampling && params !== undefined ? withoutContext(params) : params
  }
}

/** A client that is asked has nothing to say in its request about questions that a server returned. */
const firstOf = (request: Request): Request =>
  request.params !== undefined && mayHold(request.params, '"inputResponses"', '"requestState"')
    ? { ...request, params: retryParams(request.params, undefined, undefined) }
    : request
