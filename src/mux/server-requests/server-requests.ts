import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Catalog } from '../../catalog/catalog.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { mayContain } from '../../kernel/json/edit.js'
import { type JsonText, memberOf, textMember, textOf, withoutMember } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { type Client, type Request, type ServerRequest, viewerOf } from '../../model/links.js'
import { type Answer, failed, type Outcome, succeeded } from '../../model/outcome.js'
import { hasOwnTasks } from '../../model/peer.js'
import { withParams } from '../../model/with-params.js'
import type { Connection } from '../../peers/connection.js'
import { destinationOf } from '../../peers/own-traces.js'
import type { CallTable } from '../calls/call-table.js'
import type { CallHandle, InFlightCall, TaskHandle } from '../calls/in-flight-call.js'
import { noMethod } from '../calls/unknown-method.js'
import { canBeAsked, incapable, isKnownQuestion } from '../input-required/client-capabilities.js'
import type { DeferredRoots } from '../input-required/deferred-roots.js'
import { ABANDONED_MS } from '../input-required/parked/parked-call-context.js'
import { PassedRequest, withoutContext } from '../input-required/passed-request.js'
import { isQuestion } from '../input-required/questions.js'
import { mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import { retryParams } from '../input-required/rounds/input-rounds.js'
import { relayedInput } from '../input-required/rounds/relayed-input.js'
import { RoundDriver } from '../input-required/rounds/round-driver.js'
import type { UrlElicitations } from '../input-required/url-elicitations.js'
import type { SessionTasks } from '../tasks/session-tasks.js'
import { cancelledByName, type TaskCall, TaskDriver } from '../tasks/task-driver.js'
import { type TaskNames, withRelated } from '../tasks/task-state.js'
import { CallInput } from './call-input.js'
import type { Origin } from './origin.js'
import { messageOrigin, reversed, taskNames } from './task-requests.js'

/** Returns whether a roots request is for a client that supports roots. */
const hasRoots = (origin: Origin<Client, InFlightCall>): boolean => {
  if (origin.is === 'client') return origin.client.capabilities.roots !== undefined
  return origin.is === 'call' && origin.call.call.client.capabilities.roots !== undefined
}

/** Returns a folder as the only root, for clients without roots. */
const rootsOf = (folder: string): JsonText =>
  textOf({ roots: [{ uri: pathToFileURL(folder).href, name: basename(folder) }] })

const NOBODY = 'No client request is associated with this request'

/**
 * Called for each server request. The returned function receives the answer, or undefined if the request was
 * withdrawn.
 */
export type OnAsked = (question: {
  readonly server: string
  readonly method: string
  readonly client: Client
}) => (answer: Answer | undefined) => void

type CallOrigin = Origin<Client, InFlightCall> & { readonly is: 'call' }

interface Passage {
  readonly client: Client
  readonly inFlight: InFlightCall | undefined
  /** True if the request certainly belongs to that call, and ends with it. */
  readonly isCertain: boolean
  readonly isRepaired: boolean
}

export interface ServerRequestsContext {
  readonly catalog: Pick<Catalog, 'sees'>
  readonly calls: CallTable
  readonly states: RequestStates
  readonly urlElicitations: UrlElicitations
  readonly deferredRoots: DeferredRoots
  readonly clock: Clock
  readonly log: Logger
  readonly onAsked?: OnAsked | undefined
  readonly sessionTasks: SessionTasks
  /** True with several servers, whose context clients must not share. */
  readonly isShared: () => boolean
}

/**
 * Routes server requests (sampling, elicitation, roots) to their client. Without one, the server receives an
 * error immediately.
 *
 * |                         | server pushes requests             | server returns requests             |
 * | client accepts pushed   | relayed, on the stream of its call | sent to the client by `RoundDriver` |
 * | client accepts returned | its call is parked (`ParkedCall`)  | relayed, with the server's state    |
 * |                         |                                    | wrapped in the proxy's              |
 */
export class ServerRequests {
  readonly #context: ServerRequestsContext
  readonly #open = new Map<Connection, number>()

  constructor(context: ServerRequestsContext) {
    this.#context = context
  }

  get size(): number {
    const passed = [...this.#open.values()].reduce((sum, count) => sum + count, 0)
    return passed + this.#context.deferredRoots.size
  }

  handle(connection: Connection, request: ServerRequest): void {
    if (!this.#hasRoom(connection, request)) return
    if (connection.shares.isAlone && !isKnownQuestion(request.method))
      this.#handleUnknown(connection, request)
    else this.#handleKnown(connection, request)
  }

  #handleKnown(connection: Connection, request: ServerRequest): void {
    const fault = faultOf(request, connection)
    if (fault !== undefined) {
      request.answer(failed(fault))
      return
    }
    const origin = messageOrigin(this.#context, connection, request)
    const { root } = connection.share
    if (root !== undefined && request.method === 'roots/list' && !hasRoots(origin)) {
      request.answer(succeeded(rootsOf(root)))
      return
    }
    switch (origin.is) {
      case 'call':
        this.#askIn(origin, request)
        return
      case 'client':
        this.#askOutside(connection, request, origin.client)
        return
      case 'ambiguous':
        this.#refuse(connection, request, 'No single client request is associated with this request')
        return
      case 'none':
        if (request.about === undefined && this.#context.deferredRoots.hold(connection, request)) return
        this.#refuse(connection, request, NOBODY)
    }
  }

  /** Passes a request of an unknown method to the session that it belongs to. */
  #handleUnknown(connection: Connection, request: ServerRequest): void {
    const origin = messageOrigin(this.#context, connection, request)
    const inFlight = origin.is === 'call' ? origin.call : undefined
    const client = origin.is === 'client' ? origin.client : inFlight?.call.client
    const hasSession = [...connection.clients].some(({ serverRequests }) => serverRequests === 'pushed')
    if (client?.serverRequests === 'pushed') {
      const isCertain = origin.is === 'call' && origin.isCertain
      this.#pass(connection, request, { client, inFlight, isCertain, isRepaired: false })
    } else if (client !== undefined || !hasSession) request.answer(failed(noMethod(request)))
    else this.#refuse(connection, request, NOBODY)
  }

  /** Asks the only client that ever used a connection, while it may see the server. */
  #askOutside(connection: Connection, request: ServerRequest, client: Client): void {
    if (!this.#context.catalog.sees(viewerOf(client), connection.server))
      this.#refuse(connection, request, NOBODY)
    else if (canBeAsked(request, client.capabilities))
      this.#push(connection, request, { client, inFlight: undefined, isCertain: false, isRepaired: true })
    else request.answer(failed(incapable(request)))
  }

  /** A client with returned requests gets them in the results of only a few methods. */
  #askIn({ call: inFlight, isCertain }: CallOrigin, request: ServerRequest): void {
    const { connection, call } = inFlight
    const { client } = call
    const isReturned = client.serverRequests === 'returned'
    const passage = { client, inFlight, isCertain, isRepaired: true }
    if (isReturned && !mayNeedInput(call.method)) this.#refuse(connection, request, NOBODY)
    else if (!canBeAsked(request, client.capabilities)) request.answer(failed(incapable(request)))
    else if (isReturned) this.#pass(connection, request, passage)
    else this.#push(connection, request, passage)
  }

  /**
   * Sends the request of a call to its server, and lets the client answer the server's questions in its own
   * mode.
   */
  send(inFlight: InFlightCall, request: Request): CallHandle {
    const { call, record } = inFlight
    const link =
      record.trace?.over(inFlight.link, destinationOf(inFlight.connection.server, inFlight.link)) ??
      inFlight.link
    if (
      call.client.serverRequests === 'pushed' &&
      inFlight.link.serverRequests === 'returned' &&
      mayNeedInput(request.method)
    ) {
      const driver = new RoundDriver(link, firstOf(request), inFlight, new CallInput(inFlight, this))
      driver.start()
      return driver
    }
    const down = link.call(request, inFlight)
    const isTask = request.taskTtlMs !== undefined || request.task !== undefined
    return isTask ? cancelledByName(down, this.#context.clock) : down
  }

  taskOf(inFlight: InFlightCall, task: Omit<TaskCall, 'link'>): TaskHandle {
    const { link } = inFlight
    return new TaskDriver({ ...task, link }, inFlight, new CallInput(inFlight, this))
  }

  get clock(): Clock {
    return this.#context.clock
  }

  get isShared(): boolean {
    return this.#context.isShared()
  }

  /** Relays an `InputRequiredResult`. Throws a Fault for requests that the client must not receive. */
  relay(inFlight: InFlightCall, result: JsonText): Outcome {
    const approval = inFlight.record.approval?.next()
    const relaying = { states: this.#context.states, isShared: this.isShared, approval }
    return {
      kind: 'input',
      result: relayedInput(result, inFlight.call, inFlight.connection.server, relaying),
    }
  }

  ask(inFlight: InFlightCall, request: ServerRequest): void {
    const { connection, call } = inFlight
    if (!this.#hasRoom(connection, request)) return
    this.#pass(connection, request, { client: call.client, inFlight, isCertain: true, isRepaired: false })
  }

  #push(connection: Connection, request: ServerRequest, passage: Passage): void {
    const id = request.params && textMember(request.params, 'elicitationId')
    if (id !== undefined) this.#context.urlElicitations.shown(connection, passage.client, id)
    this.#pass(connection, request, passage)
  }

  #pass(connection: Connection, request: ServerRequest, passage: Passage): void {
    const { client, inFlight, isCertain } = passage
    const passed = this.#passed(connection, request, passage)
    if (inFlight !== undefined && !isCertain) this.#suspend(inFlight, passed)
    if (client.serverRequests === 'pushed') {
      inFlight?.serverRequested(passed, isCertain ? 'certain' : 'likely')
      client.ask(passed, inFlight?.record.call)
    } else if (inFlight?.parked?.ask(passed, inFlight) !== true)
      passed.answer(failed(new Fault('overloaded', 'Too many calls wait for answers of their clients')))
  }

  /** Records a request at all other calls that it may belong to, which pauses their idle timeouts. */
  #suspend(likely: InFlightCall, passed: PassedRequest): void {
    for (const other of this.#context.calls.on(likely.connection))
      if (other !== likely) other.serverRequested(passed, 'possible')
  }

  /** Limits the time of a request without a call of its own, once no call in flight can own it. */
  #limitTime(passed: PassedRequest, connection: Connection, set: (limit: Timer) => void): void {
    const { bounds } = connection
    const ms = bounds.max.questionTime
    const limit = this.#context.clock.after(ms, () => {
      if (this.#context.calls.isAsked(connection, passed)) {
        this.#limitTime(passed, connection, set)
        return
      }
      bounds.hit('questionTime')
      const words = `No answer within ${Math.round(ms / 1000)} s`
      passed.onWithdrawn?.('timed out')
      passed.answer(failed(new Fault('timeout', words, { data: { limit: 'questionTime', max: ms } })))
    })
    set(limit)
  }

  #passed(
    connection: Connection,
    request: ServerRequest,
    { client, inFlight, isCertain, isRepaired }: Passage,
  ): PassedRequest {
    this.#open.set(connection, (this.#open.get(connection) ?? 0) + 1)
    let limit: Timer | undefined
    const observer = this.#context.onAsked?.({
      server: connection.server.name,
      method: request.method,
      client,
    })
    const answered = inFlight?.record.trace?.asked(request.method)
    const over = (outcome: Answer | undefined): void => {
      limit?.cancel()
      answered?.(outcome)
      this.#closeOne(connection)
      inFlight?.answered(passed)
      if (inFlight !== undefined && !isCertain)
        for (const call of this.#context.calls.on(connection)) call.answered(passed)
      observer?.(outcome)
    }
    const names = taskNames(this.#context.sessionTasks, connection, request, { client, inFlight })
    const forServer = names && ((result: JsonText) => withRelated(result, reversed(names)))
    const mayBeTask = connection.shares.isAlone && hasOwnTasks(client) && asksForTask(request)
    const params = this.#paramsFor(request, names, mayBeTask)
    const passed = new PassedRequest(request, { params, forServer, isRepaired, mayBeTask, over })
    const isReturned = client.serverRequests === 'returned'
    if (!isCertain && !isReturned)
      this.#limitTime(passed, connection, timer => {
        limit = timer
      })
    return passed
  }

  #refuse(connection: Connection, request: ServerRequest, words: string): void {
    this.#context.log.warn(
      { server: connection.server.name, method: request.method },
      `refused a server request: ${words}`,
    )
    request.answer(failed(new Fault('invalid-params', words)))
  }

  /** Returns whether another server request may wait; otherwise answers it with an error. */
  #hasRoom(connection: Connection, request: ServerRequest): boolean {
    const { bounds } = connection
    const max = bounds.max.questionsPerServer
    if ((this.#open.get(connection) ?? 0) >= max) this.#endAbandoned(connection)
    if ((this.#open.get(connection) ?? 0) < max) return true
    const why = bounds.overloaded('questionsPerServer', `${max} questions are unanswered`, {
      server: connection.server.name,
    })
    request.answer(failed(why))
    return false
  }

  /** Ends the oldest call whose client was asked long ago and has not returned. */
  #endAbandoned(connection: Connection): void {
    const sinceMs = this.clock.nowMs() - ABANDONED_MS
    for (const { parked } of this.#context.calls.on(connection)) {
      if (parked?.isParkedSince(sinceMs) !== true) continue
      parked.expire()
      return
    }
  }

  #closeOne(connection: Connection): void {
    const count = (this.#open.get(connection) ?? 1) - 1
    if (count === 0) this.#open.delete(connection)
    else this.#open.set(connection, count)
  }

  #paramsFor(request: ServerRequest, names: TaskNames | undefined, mayBeTask: boolean): JsonText | undefined {
    if (request.params === undefined || !isKnownQuestion(request.method)) return request.params
    const named = withRelated(request.params, names)
    // Only a single server learns that clients have tasks.
    const params = mayBeTask || !asksForTask(request) ? named : withoutMember(named, 'task')
    return this.isShared && request.method === 'sampling/createMessage' ? withoutContext(params) : params
  }
}

/** Returns the reason why no client of a connection may be asked. */
const faultOf = (request: ServerRequest, { share }: Connection): Fault | undefined => {
  const { method, params } = request
  if (!canBeAsked(request, share.capabilities)) return incapable(request)
  return isQuestion(method, params)
    ? undefined
    : new Fault('invalid-params', `The params of ${method} are malformed`)
}

/** Returns whether a server wants the client to run its request as a task. */
const asksForTask = ({ params }: ServerRequest): boolean =>
  params !== undefined && memberOf(params, 'task') !== undefined

/** Removes answers and state from a session's request: sessions have no returned requests. */
const firstOf = (request: Request): Request =>
  request.isBare === true ||
  request.params === undefined ||
  !mayContain(request.params, '"inputResponses"', '"requestState"')
    ? request
    : withParams(request, retryParams(request.params, undefined, undefined))
