import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Downlink } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import { whenCancelled } from './call-events.js'
import type { CallTable } from './call-table.js'
import { aboutServer, type RoutedCall, timedOut } from './in-flight-call.js'

/** What a pending call depends on. */
export interface PendingCallContext {
  readonly clock: Clock
  readonly calls: CallTable
  /** Prepares the server for a call over a link; undefined if there is nothing to wait for. Never rejects. */
  prepare(routed: RoutedCall, link: Downlink): Promise<unknown> | undefined
  /** Sends the call over a link for which it was prepared. Never throws. */
  send(routed: RoutedCall, link: Downlink): void
  /** Gives up what the call was prepared for. */
  leave(routed: RoutedCall): void
}

/**
 * A call that cannot be sent yet: its server has to be opened or told a log level, or it is another client's turn. If the
 * client cancels it, no server hears of it.
 */
export class PendingCall {
  readonly #routed: RoutedCall
  readonly #context: PendingCallContext
  readonly #timer: Timer
  #isOver = false

  constructor(routed: RoutedCall, context: PendingCallContext) {
    const { clock, calls } = context
    this.#routed = routed
    this.#context = context
    calls.begin(routed.connection)
    this.#timer = clock.after(routed.totalAtMs - clock.nowMs(), () => this.#fail(timedOut(routed.connection)))
    whenCancelled(routed.call, () => this.#cancelled())
  }

  /** Prepares and sends the call once there is a link. Never rejects. */
  async open(opening: Promise<Downlink>): Promise<void> {
    try {
      const link = await opening
      if (this.#isOver) return
      const prepared = this.#context.prepare(this.#routed, link)
      if (prepared === undefined) this.#send(link)
      else await this.prepared(link, prepared)
    } catch (thrown) {
      const why = Fault.from(thrown)
      this.#fail(this.#routed.earlier?.unsent(why) ?? why)
    }
  }

  /** Sends the call once it was prepared. */
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
    this.#context.leave(this.#routed)
  }

  #fail(why: Fault): void {
    if (this.#isOver) return
    this.#cancelled()
    this.#routed.call.end(failed(aboutServer(why, this.#routed.connection)))
  }

  #close(): void {
    this.#isOver = true
    this.#timer.cancel()
    this.#context.calls.end(this.#routed.connection)
  }
}
