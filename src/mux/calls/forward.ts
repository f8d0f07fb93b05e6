import { hasInterface } from '../../catalog/app-facts.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { Owned, Owners } from '../../catalog/owners.js'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { at, type JsonText, kindOf, stringOf } from '../../kernel/json/text.js'
import type { Downlink } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import type { DeferredRoots } from '../input-required/deferred-roots.js'
import { definedIn, type NamedAt, type NamedBy, namedAt, PLACES } from '../routes.js'
import type { ServerRequests } from '../server-requests/server-requests.js'
import {
  type CallGate,
  type CallRecord,
  type CallVerdict,
  NEXT,
  type RoutedRecord,
  TAKEN,
} from './call-record.js'
import type { CallTable } from './call-table.js'
import type { CallMeter } from './counting/call-meter.js'
import { errorOver } from './earlier-try.js'
import {
  aboutServer,
  type CallHandle,
  InFlightCall,
  type InFlightCallContext,
  type TaskHandle,
} from './in-flight-call.js'
import { resume, runChain } from './interceptor-chains.js'
import type { LogLevels } from './log-levels.js'
import { PendingCall, type PendingCallContext } from './pending-call.js'
import { requesterOf, requestFor } from './request-for.js'
import type { ResultPresenter } from './result-presenter.js'
import { noMethod } from './unknown-method.js'

/** The scheme of interfaces of tools (ext-apps, SEP-1865). */
const INTERFACE = 'ui://'
const NO_REF = 'completion/complete: ref.type must be ref/prompt or ref/resource'

export interface ForwarderContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly calls: CallTable
  readonly clock: Clock
  readonly logLevels: LogLevels
  readonly serverRequests: ServerRequests
  readonly deferredRoots: DeferredRoots
  readonly presenter: ResultPresenter
  readonly meter?: CallMeter | undefined
}

/** Forwards requests to the one server that owns their subject. */
export class Forwarder implements PendingCallContext, InFlightCallContext {
  readonly clock: Clock
  readonly calls: CallTable
  readonly meter: CallMeter | undefined
  readonly presenter: ResultPresenter
  /** Decides about calls; undefined without rules and without a lock file. */
  gate: CallGate | undefined
  readonly #context: ForwarderContext

  constructor(context: ForwarderContext) {
    this.#context = context
    this.meter = context.meter
    this.presenter = context.presenter
    this.clock = context.clock
    this.calls = context.calls
  }

  /** Forwards a call; any failure ends it. */
  forward(record: CallRecord, by: NamedBy): void {
    try {
      const place = by === 'ref' ? namedAt(by, record.params) : PLACES[by]
      if (place === undefined) throw new Fault('invalid-params', NO_REF)
      record.path = place.path
      if (record.named !== undefined && place.path[0] === 'name') record.exposed = record.named
      else setSubject(record, place)
      const owner = this.#ownerOf(record, place.by)
      if (owner instanceof Promise) this.#routeLater(record, owner)
      else this.forwardTo(record, owner)
    } catch (thrown) {
      this.#failUnowned(record, thrown)
    }
  }

  /** Fails a call without an owner. Its name may still show the server, for metrics, status and logs. */
  #failUnowned(record: CallRecord, thrown: unknown): void {
    const { exposed, method, servedBy } = record
    const list = definedIn(method)
    if (servedBy === undefined && exposed !== '' && list !== undefined) {
      const found = this.#context.owners.serverOf(record, list, exposed)
      record.servedBy = found?.server.name
      record.ownName = found?.own
    }
    record.end(failed(Fault.from(thrown)))
  }

  /** Passes a call of an unknown method to the only server. */
  pass(record: CallRecord): void {
    const [server] = this.#context.catalog.visibleTo(record).keys()
    if (server === undefined) record.end(failed(noMethod(record)))
    else this.forwardTo(record, { server, own: '' })
  }

  #ownerOf(record: CallRecord, by: NamedAt['by'], retry = record.retry): Owned | Promise<Owned> {
    const { owners, catalog } = this.#context
    const { exposed } = record
    switch (by) {
      case 'tool':
        // The tool list shows whether a tool may be called again.
        return retry?.state?.kind === 'park'
          ? catalog.readOnce(record, 'tools').then(() => owners.named(record, 'tools', exposed))
          : owners.named(record, 'tools', exposed)
      case 'prompt':
        return owners.named(record, 'prompts', exposed)
      case 'uri':
        return owners.uri(record, exposed)
      case 'template':
        return owners.template(record, exposed)
    }
  }

  /** Waits for the owner. If the client cancels meanwhile, no server receives the call. */
  #routeLater(record: CallRecord, owner: Promise<Owned>): void {
    owner
      .then(owned => {
        if (!record.isOver) this.forwardTo(record, owned)
      })
      .catch((thrown: unknown) => this.#failUnowned(record, thrown))
  }

  /** Forwards a call to a known server. */
  forwardTo(record: CallRecord, owned: Owned): void {
    if (owned.exposed !== undefined) record.exposed = owned.exposed
    if ((owned.app !== undefined && hasInterface(owned.app)) || owned.own.startsWith(INTERFACE))
      this.#context.owners.opens(record, owned.server)
    record.routedTo(owned)
    const verdict = runChain(record, record.chains.routed)
    if (verdict === NEXT && this.gate === undefined) this.#start(record as RoutedRecord)
    else resume(record, verdict, () => this.#decide(record as RoutedRecord))
  }

  /** Asks the rules, if there are any, about a call that can be sent. */
  #decide(record: RoutedRecord): void {
    if (this.gate === undefined) this.#start(record)
    else this.#enter(record, this.gate.decide(record))
  }

  /** Continues a call that the gate lets pass. */
  #enter(record: RoutedRecord, verdict: CallVerdict | Promise<CallVerdict>): void {
    if (verdict instanceof Promise)
      void verdict.then(known => {
        if (!record.isOver) this.#enter(record, known)
      })
    else if (verdict === NEXT) this.#start(record)
    else if (verdict !== TAKEN) record.front.end(verdict)
  }

  #start(record: RoutedRecord): void {
    const { connection } = record
    const { link } = connection
    if (link === undefined) {
      void new PendingCall(record, this).open(connection.open())
      return
    }
    const verdict = runChain(record, record.chains.sending)
    if (verdict === NEXT) this.#send(record, link)
    else if (verdict instanceof Promise) void new PendingCall(record, this).wait(link, verdict)
    else this.sendAfter(record, link, verdict)
  }

  /** Sends a call over the next link, after an attempt that was not sent or not run. */
  #startAgain(record: RoutedRecord): void {
    const { connection } = record
    if (!connection.clients.has(record.client))
      this.#fail(record, new Fault('unavailable', 'it can no longer be shared; try again'))
    else if (connection.link !== undefined) this.#start(record)
    else void new PendingCall(record, this).open(connection.reopen())
  }

  #fail(record: RoutedRecord, why: Fault): void {
    record.turn?.leave()
    record.front.end(failed(aboutServer(why, record.connection)))
  }

  sendAfter(record: RoutedRecord, link: Downlink, verdict: CallVerdict): void {
    if (verdict === NEXT) this.#send(record, link)
    else {
      record.turn?.leave()
      if (verdict !== TAKEN) record.front.end(verdict)
    }
  }

  #send(record: RoutedRecord, link: Downlink): void {
    const { connection, earlier } = record
    if (!connection.isOpen(link)) {
      this.#startAgain(record)
      return
    }
    const fault = earlier && errorOver(link, earlier)
    if (fault !== undefined) {
      this.#fail(record, fault)
      return
    }
    const verdict = record.approval?.use() ?? NEXT
    if (verdict !== NEXT) {
      record.turn?.leave()
      this.#enter(record, verdict)
      return
    }
    const inFlight = new InFlightCall(record, link, this)
    this.calls.add(inFlight)
    inFlight.start()
  }

  run(inFlight: InFlightCall): CallHandle {
    // Its server asks the client in the course of it, and names the task (basic/utilities/tasks).
    const { isAboutTask, isPassed } = inFlight.record
    if (isAboutTask || isPassed) this.calls.becameTask(inFlight, inFlight.taskId)
    return this.#context.serverRequests.send(inFlight, requestFor(inFlight, this.#context))
  }

  taskOf(inFlight: InFlightCall, down: CallHandle | undefined, result: JsonText): TaskHandle {
    const requester = requesterOf(inFlight.record, this.#context)
    const task = this.#context.serverRequests.taskOf(inFlight, { down, requester, result })
    if (inFlight.isRunning) this.calls.becameTask(inFlight, task.taskId)
    return task
  }

  again(inFlight: InFlightCall): void {
    this.meter?.resent(inFlight.connection.server.name)
    // In this order the connection never counts as unused.
    this.#startAgain(inFlight.record)
    this.calls.remove(inFlight)
  }

  firstCalled(inFlight: InFlightCall): void {
    const { deferredRoots, serverRequests } = this.#context
    for (const request of deferredRoots.firstCalled(inFlight))
      serverRequests.handle(inFlight.connection, request)
  }
}

/** Maximum length of a URI. */
const URI_CHARS = 8192
/** RFC 3986 §3.1. */
const SCHEME = /^[a-z][a-z0-9+.-]*:/i

/** Reads the subject of a call. Throws a Fault `invalid-params` for params that no revision allows. */
const setSubject = (record: CallRecord, { by, path }: NamedAt): void => {
  const { method, params, named } = record
  const text = params && stringOf(at(params, ...path))
  if (params === undefined || text === undefined)
    throw new Fault('invalid-params', `${method}: ${path.join('.')} must be text`)
  record.exposed = text
  if (named !== undefined) return
  if (by === 'uri' && (text.length > URI_CHARS || !SCHEME.test(text)))
    throw new Fault('invalid-params', `${method}: uri must be a URI of at most ${URI_CHARS} characters`)
  const given = by === 'tool' ? at(params, 'arguments') : undefined
  if (given !== undefined && !['object', 'null'].includes(kindOf(given)))
    throw new Fault('invalid-params', `${method}: arguments must be an object`)
}
