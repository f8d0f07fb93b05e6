import type { Caller } from '../../kernel/caller.js'
import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import { type Call, Cancellable, type CancelReason, type Client } from '../../model/links.js'
import type { McpLogLevel } from '../../model/log-level.js'
import type { Outcome } from '../../model/outcome.js'
import type { Progress } from '../../model/progress.js'

/**
 * One request of a client, from its arrival to its end: answered, cancelled or abandoned, whichever comes
 * first. Its id and token never leave this hop.
 */
export abstract class InboundCall extends Cancellable implements Call {
  abstract readonly client: Client
  abstract readonly caller: Caller
  abstract readonly method: string
  abstract readonly params: JsonText | undefined
  abstract readonly named: string | undefined
  abstract readonly wantsProgress: boolean
  abstract readonly logLevel: McpLogLevel | undefined
  abstract readonly id: JsonText
  abstract readonly arrival: Call['arrival']
  /** True once the call has ended: nothing may follow on the stream. */
  isOver = false

  abstract progress(progress: Progress): void
  abstract notify(method: string, params: JsonText | undefined): void

  end(outcome: Outcome): void {
    if (this.isOver) return
    this.isOver = true
    this.over()
    this.answer(outcome)
  }

  /** Cancels the call on behalf of the client, which gets no answer (utilities/cancellation). */
  cancel(reason: CancelReason): void {
    if (this.isOver) return
    this.isOver = true
    this.over()
    this.cancelled(reason)
    this.dismiss()
  }

  /** Ends the call from our side: the client gets an answer. */
  abandon(reason: string, why: Fault): void {
    if (this.isOver) return
    this.isOver = true
    this.over()
    this.cancelled(reason)
    this.answerAbandoned(why)
  }

  /** Called once, before the answer. */
  protected abstract over(): void
  protected abstract answer(outcome: Outcome): void
  /** Ends the stream without an answer. */
  protected abstract dismiss(): void
  protected abstract answerAbandoned(why: Fault): void
}
