import type { Catalog } from '../../catalog/catalog.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import type { Downlink } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import { canAnswerQuestions } from '../../model/peer.js'
import type { LogLevels } from '../notifications/log-levels.js'
import { whenCancelled } from './call-events.js'
import type { CallTable } from './call-table.js'
import { ClientTurns } from './client-turns.js'
import type { CallMeter } from './counting/call-meter.js'
import type { DepartedCall } from './departed-calls.js'
import { errorWithoutLink } from './earlier-try.js'
import { aboutServer, type RoutedCall, timedOut } from './in-flight-call.js'

/** Maximum time that a call waits for the proxy's own requests, which its questions could belong to. */
const OWN_REQUESTS_MS = 1000

/** Prepares servers for calls before they are sent. */
export class Preparation {
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #logLevels: LogLevels
  readonly #turns: ClientTurns

  constructor(catalog: Catalog, logLevels: LogLevels, clock: Clock) {
    this.#turns = new ClientTurns(clock)
    this.#catalog = catalog
    this.#clock = clock
    this.#logLevels = logLevels
  }

  /** Resolves when a call may be sent over a link; undefined if it may be sent now. Never rejects. */
  prepare(routed: RoutedCall, link: Downlink): Promise<unknown> | undefined {
    const turn =
      routed.connection.server.serialize && mayAsk(routed, link) ? this.#turns.turn(routed) : undefined
    return turn === undefined ? this.#ready(routed, link) : turn.then(() => this.#ready(routed, link))
  }

  /** Gives up the turn of a finished call. */
  leave(routed: RoutedCall): void {
    this.#turns.leave(routed.connection, routed)
  }

  /** Transfers the turn of a cancelled call to its departed entry. */
  depart(routed: RoutedCall, departed: DepartedCall): void {
    this.#turns.depart(routed, departed)
  }

  /**
   * Waits for the server's log level, for requests of the proxy that would leave the owner of a question
   * unknown, and for the list that shows whether a tool must be called as a task.
   */
  #ready(routed: RoutedCall, link: Downlink): Promise<unknown> | undefined {
    const { connection, call, exposed } = routed
    const level = this.#logLevels.servers.prepare(connection, call)
    const isShared = connection.onlyClient === undefined
    const own = isShared && mayAsk(routed, link) ? connection.ownRequests.noneUnowned() : undefined
    const ready =
      own === undefined
        ? level
        : Promise.all([level, within(own, { clock: this.#clock, ms: OWN_REQUESTS_MS })])
    const mayNeedTask = call.method === 'tools/call' && link.facts.capabilities.tasks
    if (!mayNeedTask || this.#catalog.find(call, 'tools', exposed) !== undefined) return ready
    return Promise.all([ready, this.#catalog.readOnce(call, 'tools')])
  }
}

/** Returns whether the server may ask the client of a call without naming the call. */
const mayAsk = ({ call: { client } }: RoutedCall, link: Downlink): boolean =>
  link.serverRequests === 'pushed' && canAnswerQuestions(client.capabilities)

export interface PendingCallContext {
  readonly clock: Clock
  readonly calls: CallTable
  readonly preparation: Preparation
  readonly meter: CallMeter | undefined
  /** Sends the call over a link for which it was prepared. Never throws. */
  send(routed: RoutedCall, link: Downlink): void
}

/** A call that cannot be sent yet. If its client cancels it, no server receives it. */
export class PendingCall {
  readonly #routed: RoutedCall
  readonly #context: PendingCallContext
  readonly #timer: Timer
  readonly #sinceMs: number
  #isStart = false
  #isOver = false

  constructor(routed: RoutedCall, context: PendingCallContext) {
    const { clock, calls } = context
    this.#routed = routed
    this.#context = context
    calls.begin(routed.connection)
    this.#sinceMs = clock.nowMs()
    this.#timer = clock.after(routed.totalAtMs - this.#sinceMs, () => this.#fail(timedOut(routed.connection)))
    whenCancelled(routed.call, () => this.#cancelled())
  }

  /** Sends the call once the link is open. Never rejects. */
  async open(opening: Promise<Downlink>): Promise<void> {
    this.#isStart = true
    try {
      const link = await opening
      if (this.#isOver) return
      const prepared = this.#context.preparation.prepare(this.#routed, link)
      if (prepared === undefined) this.#send(link)
      else await this.prepared(link, prepared)
    } catch (thrown) {
      this.#fail(errorWithoutLink(Fault.from(thrown), this.#routed.earlier))
    }
  }

  async prepared(link: Downlink, prepared: Promise<unknown>): Promise<void> {
    await prepared
    if (!this.#isOver) this.#send(link)
  }

  #send(link: Downlink): void {
    this.#context.send(this.#routed, link)
    this.#close()
  }

  #cancelled(): void {
    if (this.#isOver) return
    this.#close()
    this.#context.preparation.leave(this.#routed)
  }

  #fail(why: Fault): void {
    if (this.#isOver) return
    this.#cancelled()
    this.#routed.call.end(failed(aboutServer(why, this.#routed.connection)))
  }

  #close(): void {
    this.#isOver = true
    this.#timer.cancel()
    const { clock, meter, calls } = this.#context
    const { request, connection } = this.#routed
    const reason = this.#isStart ? 'start' : 'turn'
    meter?.held(request, reason, clock.nowMs() - this.#sinceMs)
    request.trace?.waited(reason, this.#sinceMs, this.#isStart ? connection.meter.traces?.context : undefined)
    calls.end(connection)
  }
}
