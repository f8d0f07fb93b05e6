import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { ByteAccount } from '../../../kernel/byte-account.js'
import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { CallSink, CancelReason, DownstreamCall, Request, ServerRequest } from '../../../model/links.js'
import { failed, midway, type Outcome } from '../../../model/outcome.js'
import type { CallHandle } from '../../calls/in-flight-call.js'
import { noInput } from '../answers.js'
import { pauseMs, planRound, type RoundContext, type RoundQuestion, retryParams } from './input-rounds.js'
import { QuestionRound } from './question-round.js'

/** How often and how long a client is asked in the course of one request. */
export interface RoundLimits {
  readonly rounds: number
  /** How long the client may take for the questions of one round. */
  readonly roundMs: number
  /** How long all rounds of a request may take. */
  readonly totalMs: number
}

/** The limits unless somebody says otherwise. */
export const ROUND_LIMITS: RoundLimits = { rounds: 10, roundMs: 600_000, totalMs: 3_600_000 }

/** What makes requests: a link, or what makes several of one. */
export interface CallRunner {
  call(request: Request, sink: CallSink): CallHandle
}

/** What driving rounds needs. */
export interface RoundOptions extends RoundContext {
  readonly clock: Clock
  readonly limits: RoundLimits
  /** Where is counted what waits for the client. */
  readonly account: ByteAccount
  /** One form after the other, for hosts that show only one at a time; other questions never wait. */
  readonly isSequential: boolean
  /** Puts a question to the client, on the stream of its request; `ask.onWithdrawn` is set by whoever does. */
  ask(request: ServerRequest): void
  /** The request went well for which the client sent its user to a page: told before its result. */
  elicitationComplete(elicitationId: string): void
}

/**
 * One request of a legacy client at a modern server, which returns questions instead of asking them: the client is asked, and
 * the request made again with the answers, until it ends (2026-07-28, basic/patterns/mrtr). For the caller it is one call.
 */
export class RoundDriver implements CallHandle {
  readonly #link: CallRunner
  readonly #request: Request
  readonly #sink: CallSink
  readonly #options: RoundOptions
  readonly #lastMs: number
  readonly #elicitations: string[] = []
  #down: CallHandle | undefined
  #round: QuestionRound | undefined
  #pause: Timer | undefined
  #rounds = 0
  #pauses = 0
  #isOver = false

  constructor(link: CallRunner, request: Request, sink: CallSink, options: RoundOptions) {
    this.#link = link
    this.#request = request
    this.#sink = sink
    this.#options = options
    this.#lastMs = options.clock.nowMs() + options.limits.totalMs
  }

  isAbout(down: DownstreamCall): boolean {
    return this.#down === down || this.#down?.isAbout?.(down) === true
  }

  get taskId(): string | undefined {
    return this.#down?.taskId
  }

  /** Makes the request for the first time. Throws what the link throws. */
  start(): void {
    this.#send(this.#request.params)
  }

  /** The client does not wait any more: it is asked nothing, and the server neither. */
  cancel(reason: CancelReason): void {
    if (this.#isOver) return
    const down = this.#down
    this.#close(reason)
    down?.cancel(reason)
  }

  #send(params: JsonText | undefined): void {
    // A link may end a request before it returns it, and the next try may be under way by then.
    const attempt = { isUnderWay: true }
    const sink: CallSink = {
      progress: progress => {
        if (attempt.isUnderWay && !this.#isOver) this.#sink.progress(progress)
      },
      ended: outcome => {
        if (!attempt.isUnderWay || this.#isOver) return
        attempt.isUnderWay = false
        this.#down = undefined
        this.#ended(outcome)
      },
    }
    const down = this.#link.call({ ...this.#request, params }, sink)
    if (attempt.isUnderWay) this.#down = down
  }

  #ended(outcome: Outcome): void {
    if (outcome.kind !== 'input') {
      this.#finish(this.#rounds > 0 ? midway(outcome) : outcome)
      return
    }
    const { limits, server, clock } = this.#options
    if (this.#rounds >= limits.rounds) {
      this.#abort(`Server ${server} asked for input more than ${limits.rounds} times`)
      return
    }
    this.#rounds += 1
    const plan = planRound(outcome.result, this.#options)
    switch (plan.is) {
      case 'abort':
        this.#abort(plan.words)
        return
      case 'wait':
        this.#pause = clock.after(pauseMs(this.#pauses), () => this.#retry(undefined, plan.state))
        this.#pauses += 1
        return
      case 'ask':
        this.#pauses = 0
        this.#ask(plan.questions, plan.state, outcome.result.length)
    }
  }

  #ask(questions: readonly RoundQuestion[], state: JsonText | undefined, bytes: number): void {
    const { clock, limits, server, isSequential, account } = this.#options
    const waitMs = Math.min(limits.roundMs, this.#lastMs - clock.nowMs())
    if (waitMs <= 0) {
      this.#outOfTime()
      return
    }
    const round = new QuestionRound(questions, {
      server,
      clock,
      waitMs,
      bytes,
      account,
      isSequential,
      ask: request => this.#options.ask(request),
      over: end => {
        this.#round = undefined
        this.#elicitations.push(...round.acceptedUrls)
        if (end.is === 'abort') this.#abort(end.words)
        else this.#retry(end.responses, state)
      },
    })
    this.#round = round
    round.start()
  }

  #retry(responses: JsonText | undefined, state: JsonText | undefined): void {
    if (this.#options.clock.nowMs() >= this.#lastMs) {
      this.#outOfTime()
      return
    }
    try {
      this.#send(retryParams(this.#request.params, responses, state))
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  #outOfTime(): void {
    this.#abort(`Server ${this.#options.server} asked for input that did not come in time`)
  }

  #abort(words: string): void {
    this.#elicitations.length = 0
    this.#finish(noInput(this.#request.method, words, this.#options.server))
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#close('the request that it belongs to is over')
    if (outcome.kind === 'result') {
      for (const id of this.#elicitations) this.#options.elicitationComplete(id)
    }
    this.#sink.ended(outcome)
  }

  #close(reason: CancelReason): void {
    this.#isOver = true
    this.#down = undefined
    this.#pause?.cancel()
    this.#round?.withdraw(reason)
    this.#round = undefined
  }
}
