import type { Catalog } from '../../catalog/catalog.js'
import type { Owned, Owners } from '../../catalog/owners.js'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { at, type JsonText, stringOf, textMember } from '../../kernel/json/text.js'
import { insufficientScope } from '../../model/access.js'
import type { Call, Client, Downlink, OnLate, ServerRequest, Viewer } from '../../model/links.js'
import { failed, type Outcome, succeeded } from '../../model/outcome.js'
import type { Connection } from '../../peers/connection.js'
import type { Server } from '../../peers/server.js'
import { mayBeParked, type ParkedCalls } from '../input-required/parked/parked-calls.js'
import type { InputRetries, Retry } from '../input-required/retry/input-retries.js'
import type { LogLevels } from '../notifications/log-levels.js'
import { type NamedAt, type NamedBy, namedAt } from '../routes.js'
import type { DeferredRoots } from '../server-requests/deferred-roots.js'
import type { ServerRequests } from '../server-requests/server-requests.js'
import type { SignIns } from '../sign-in/sign-ins.js'
import { stillWanted } from './call-events.js'
import type { CallTable } from './call-table.js'
import type { CallMeter } from './counting/call-meter.js'
import { errorOver } from './earlier-try.js'
import {
  aboutServer,
  type CallHandle,
  InFlightCall,
  type InFlightCallContext,
  type RoutedCall,
  type TaskHandle,
} from './in-flight-call.js'
import { PendingCall, type PendingCallContext, Preparation } from './pending-call.js'
import { requesterOf, requestFor } from './request-for.js'
import { checkShape } from './request-shape.js'
import { NO_COMPLETIONS, type ResultPresenter } from './result-presenter.js'

const NO_REF = 'completion/complete: ref.type must be ref/prompt or ref/resource'

interface Named extends NamedAt {
  readonly exposed: string
}

export interface ForwarderContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly calls: CallTable
  readonly clock: Clock
  readonly logLevels: LogLevels
  readonly serverRequests: ServerRequests
  readonly deferredRoots: DeferredRoots
  readonly parkedCalls: ParkedCalls
  readonly retries: InputRetries
  readonly presenter: ResultPresenter
  readonly signIns: SignIns
  readonly meter?: CallMeter | undefined
}

/** Forwards requests to the one server that owns their subject. */
export class Forwarder implements PendingCallContext, InFlightCallContext {
  readonly clock: Clock
  readonly calls: CallTable
  readonly preparation: Preparation
  readonly meter: CallMeter | undefined
  readonly served: InFlightCallContext['served']
  readonly servedMs: InFlightCallContext['servedMs']
  readonly asked: InFlightCallContext['asked']
  readonly #context: ForwarderContext

  constructor(context: ForwarderContext) {
    const { meter } = context
    this.#context = context
    this.meter = meter
    this.served = ({ routed: { request }, connection: { server }, sentMs, servedMs }, outcome) => {
      request.trace?.answered(outcome)
      meter?.served(request, server.name, outcome, servedMs - sentMs)
    }
    this.servedMs = meter === undefined ? () => 0 : () => this.nowMs()
    this.asked = ({ routed: { request } }, sinceMs) => {
      request.trace?.waited('asked', sinceMs)
      meter?.waited('asked', this.nowMs() - sinceMs)
    }
    this.clock = context.clock
    this.calls = context.calls
    this.preparation = new Preparation(context.catalog, context.logLevels, context.clock)
  }

  /** Forwards a call; any failure ends it. */
  forward(call: Call, by: NamedBy): void {
    try {
      const { retries, signIns } = this.#context
      const retry = retries.read(call)
      if (retry !== undefined && retries.isTaken(call, retry)) return
      if (retry?.state?.kind === 'sign-in') signIns.resume(call, retry, () => this.#find(call, by, retry))
      else this.#find(call, by, retry)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  #find(call: Call, by: NamedBy, retry: Retry | undefined): void {
    try {
      const place = namedAt(by, call.params)
      if (place === undefined) throw new Fault('invalid-params', NO_REF)
      // No spread: on the path of every call it costs as much as the rest of this function.
      const named = { by: place.by, path: place.path, exposed: textAt(call, place.path) }
      if (call.named === undefined) checkShape(call, named)
      const owner = this.#ownerOf(call, named, retry)
      if (owner instanceof Promise) this.#routeLater(call, owner, named, retry)
      else this.#route(call, owner, named, retry)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  #ownerOf(viewer: Viewer, named: Named, retry: Retry | undefined): Owned | Promise<Owned> {
    const { owners, catalog } = this.#context
    const { by, exposed } = named
    // The tool list shows whether a tool may be called again.
    if (retry?.state?.kind === 'park')
      return catalog.readOnce(viewer, 'tools').then(() => this.#ownerOf(viewer, named, undefined))
    switch (by) {
      case 'tool':
        return owners.named(viewer, 'tools', exposed)
      case 'prompt':
        return owners.named(viewer, 'prompts', exposed)
      case 'uri':
        return owners.uri(viewer, exposed)
      case 'template':
        return owners.template(viewer, exposed)
    }
  }

  /** Waits for the owner. If the client cancels meanwhile, no server receives the call. */
  #routeLater(call: Call, owner: Promise<Owned>, named: Named, retry: Retry | undefined): void {
    const isWanted = stillWanted(call)
    owner
      .then(owned => {
        if (isWanted()) this.#route(call, owned, named, retry)
      })
      .catch((thrown: unknown) => call.end(failed(Fault.from(thrown))))
  }

  #route(call: Call, owned: Owned, { path, exposed }: Named, retry: Retry | undefined): void {
    const { server, own } = owned
    call.servedBy = server.name
    call.ownName = own
    if (owned.isOurs === true) {
      this.#context.signIns.callTool(call, server)
      return
    }
    const known = this.#knownEnd(call, server, own)
    if (known !== undefined) {
      call.end(known)
      return
    }
    const { deferredRoots, parkedCalls, retries } = this.#context
    const connection = server.connectionFor(call.client)
    const isAskable = mayBeParked(call)
    const isFirst = isAskable && retry === undefined
    const early =
      this.#overload(connection) ?? (isFirst ? deferredRoots.question(connection, call) : undefined)
    if (early !== undefined) {
      call.end(early)
      return
    }
    const resumed = retry === undefined ? { params: call.params } : retries.resume(call, retry, connection)
    if ('kind' in resumed) {
      call.end(resumed)
      return
    }
    const party = parkedCalls.partyOf(call.client, retry)
    const routed: RoutedCall = {
      request: call,
      call: isAskable ? parkedCalls.adopt(call, connection, party, resumed.earlier) : call,
      connection,
      party,
      exposed,
      own,
      path,
      params: resumed.params,
      isRetry: retry !== undefined,
      totalAtMs: this.#cameMs(call) + connection.server.timeouts.totalMs,
      progress: Number.NEGATIVE_INFINITY,
      earlier: undefined,
    }
    if (resumed.after === undefined) this.#start(routed)
    else void new PendingCall(routed, this).open(resumed.after.then(() => connection.open()))
  }

  /** Returns the arrival time of a call, from which all its durations are measured. */
  #cameMs({ beganMs = this.nowMs() }: Call): number {
    return beganMs
  }

  /** Returns the outcome of a call that needs no server, or must not reach it. */
  #knownEnd(call: Call, server: Server, own: string): Outcome | undefined {
    if (call.method === 'completion/complete' && this.#completesNothing(server, call.client))
      return succeeded(NO_COMPLETIONS)
    if (call.method !== 'tools/call') return undefined
    const lacking = this.#context.catalog.lackingScopes(call.caller, server.options, own)
    return lacking.length === 0 ? undefined : failed(insufficientScope(lacking))
  }

  /**
   * Returns whether a server has no completions; a server whose revision has no capability for them is asked.
   */
  #completesNothing(server: Server, client: Client): boolean {
    return this.#context.catalog.facts(server, client)?.capabilities.completions === false
  }

  #overload({ bounds, server, inFlight }: Connection): Outcome | undefined {
    if (inFlight < bounds.max.callsPerServer) return undefined
    const words = `Server ${server.name} has ${inFlight} requests in flight`
    return failed(bounds.overloaded('callsPerServer', words, { server: server.name }))
  }

  #start(routed: RoutedCall): void {
    const { connection } = routed
    const { link } = connection
    if (link === undefined) {
      void new PendingCall(routed, this).open(connection.open())
      return
    }
    const prepared = this.preparation.prepare(routed, link)
    if (prepared === undefined) this.send(routed, link)
    else void new PendingCall(routed, this).prepared(link, prepared)
  }

  /** Sends a call over the next link, after an attempt that was not sent or not run. */
  #startAgain(routed: RoutedCall): void {
    const { connection, request } = routed
    if (!connection.clients.has(request.client))
      this.#fail(routed, new Fault('unavailable', 'it can no longer be shared; try again'))
    else if (connection.link !== undefined) this.#start(routed)
    else void new PendingCall(routed, this).open(connection.reopen())
  }

  #fail(routed: RoutedCall, why: Fault): void {
    this.preparation.leave(routed)
    routed.call.end(failed(aboutServer(why, routed.connection)))
  }

  send(routed: RoutedCall, link: Downlink): void {
    const { connection, earlier } = routed
    if (!connection.isOpen(link)) {
      this.#startAgain(routed)
      return
    }
    const fault = earlier && errorOver(link, earlier)
    if (fault !== undefined) {
      this.#fail(routed, fault)
      return
    }
    const inFlight = new InFlightCall(routed, link, this)
    this.calls.add(inFlight)
    inFlight.start()
  }

  nowMs(): number {
    return this.clock.nowMs()
  }

  run(inFlight: InFlightCall): CallHandle {
    return this.#context.serverRequests.send(inFlight, requestFor(inFlight, this.#context))
  }

  taskOf(inFlight: InFlightCall, down: CallHandle | undefined, result: JsonText): TaskHandle {
    const requester = requesterOf(inFlight.routed, this.#context)
    const task = this.#context.serverRequests.taskOf(inFlight, { down, requester, result })
    if (inFlight.isRunning) this.calls.becameTask(inFlight, task.taskId)
    return task
  }

  again(inFlight: InFlightCall): void {
    this.meter?.resent(inFlight.connection.server.name)
    // In this order the connection never counts as unused.
    this.#startAgain(inFlight.routed)
    this.calls.remove(inFlight)
  }

  forget(inFlight: InFlightCall): void {
    this.calls.remove(inFlight)
    this.preparation.leave(inFlight.routed)
  }

  depart(inFlight: InFlightCall): OnLate | undefined {
    const departed = this.calls.depart(inFlight)
    if (departed !== undefined) this.preparation.depart(inFlight.routed, departed)
    return departed?.over
  }

  isAsked(connection: Connection, request: ServerRequest): boolean {
    return this.calls.isAsked(connection, request)
  }

  present(inFlight: InFlightCall, outcome: Outcome): Outcome {
    return this.#context.presenter.present(inFlight, outcome)
  }

  firstCalled(inFlight: InFlightCall): void {
    const { deferredRoots, serverRequests } = this.#context
    for (const request of deferredRoots.firstCalled(inFlight))
      serverRequests.handle(inFlight.connection, request)
  }
}

/** Returns the text at a path in the params. Throws a Fault `invalid-params`. */
const textAt = (call: Call, path: readonly string[]): string => {
  if (call.named !== undefined && path[0] === 'name') return call.named
  const text = call.params && textOfName(call.params, path)
  if (text === undefined) throw new Fault('invalid-params', `${call.method}: ${path.join('.')} must be text`)
  return text
}

const textOfName = (params: JsonText, path: readonly string[]): string | undefined =>
  path.length === 1 ? textMember(params, path[0] ?? '') : stringOf(at(params, ...path))
