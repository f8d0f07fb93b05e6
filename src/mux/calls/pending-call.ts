import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Downlink, Release } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import type { CallVerdict, RoutedRecord } from './call-record.js'
import type { CallTable } from './call-table.js'
import type { CallMeter } from './counting/call-meter.js'
import { errorWithoutLink } from './earlier-try.js'
import { aboutServer, timedOut } from './in-flight-call.js'
import { runChain } from './interceptor-chains.js'

export interface PendingCallContext {
  readonly clock: Clock
  readonly calls: CallTable
  readonly meter: CallMeter | undefined
  /** Sends or ends a call after the stage `sending`. Never throws. */
  sendAfter(record: RoutedRecord, link: Downlink, verdict: CallVerdict): void
}

/** A call that cannot be sent yet. If its client cancels it, no server receives it. */
export class PendingCall {
  readonly #record: RoutedRecord
  readonly #context: PendingCallContext
  readonly #timer: Timer
  readonly #sinceMs: number
  readonly #forget: Release
  #isStart = false
  #isOver = false

  constructor(record: RoutedRecord, context: PendingCallContext) {
    const { clock, calls } = context
    this.#record = record
    this.#context = context
    calls.begin(record.connection)
    this.#sinceMs = clock.nowMs()
    this.#timer = clock.after(record.totalAtMs - this.#sinceMs, () => this.#fail(timedOut(record.connection)))
    this.#forget = record.front.onCancelled(() => this.#cancelled())
  }

  /** Sends the call once the link is open. Never rejects. */
  async open(opening: Promise<Downlink>): Promise<void> {
    this.#isStart = true
    try {
      const link = await opening
      if (this.#isOver) return
      const verdict = runChain(this.#record, this.#record.chains.sending)
      if (verdict instanceof Promise) await this.wait(link, verdict)
      else this.#send(link, verdict)
    } catch (thrown) {
      this.#fail(errorWithoutLink(Fault.from(thrown), this.#record.earlier))
    }
  }

  /** Sends the call over an open link once its interceptors let it continue. */
  async wait(link: Downlink, verdict: Promise<CallVerdict>): Promise<void> {
    const known = await verdict
    if (!this.#isOver) this.#send(link, known)
  }

  #send(link: Downlink, verdict: CallVerdict): void {
    this.#context.sendAfter(this.#record, link, verdict)
    this.#close()
  }

  #cancelled(): void {
    if (this.#isOver) return
    this.#close()
    this.#record.turn?.leave()
  }

  #fail(why: Fault): void {
    if (this.#isOver) return
    this.#cancelled()
    this.#record.front.end(failed(aboutServer(why, this.#record.connection)))
  }

  #close(): void {
    this.#isOver = true
    this.#timer.cancel()
    this.#forget()
    const { clock, meter, calls } = this.#context
    const { connection, trace } = this.#record
    const reason = this.#isStart ? 'start' : 'turn'
    meter?.held(this.#record, reason, clock.nowMs() - this.#sinceMs)
    trace?.waited(reason, this.#sinceMs, this.#isStart ? connection.meter.traces?.context : undefined)
    calls.end(connection)
  }
}
