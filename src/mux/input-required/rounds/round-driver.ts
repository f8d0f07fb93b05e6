import type { Timer } from '../../../kernel/async/clock.js'
import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type {
  CallSink,
  CancelReason,
  Downlink,
  DownstreamCall,
  OnLate,
  Request,
} from '../../../model/links.js'
import { failed, midway, type Outcome } from '../../../model/outcome.js'
import { withParams } from '../../../model/with-params.js'
import type { CallHandle } from '../../calls/in-flight-call.js'
import { noInput } from '../questions.js'
import { pauseMs, type RoundEnd, type RoundQuestion, retryParams } from './input-rounds.js'
import { type InputSource, QuestionRound, type RoundLimits } from './question-round.js'

export const ROUND_LIMITS: RoundLimits = { rounds: 10, roundMs: 600_000, totalMs: 3_600_000 }

/**
 * Drives one request of a legacy client at a modern server: asks the client the server's questions, and
 * repeats the request with the answers, until it ends (2026-07-28, basic/patterns/mrtr).
 */
export class RoundDriver implements CallHandle {
  readonly #link: Pick<Downlink, 'call'>
  readonly #request: Request
  readonly #sink: CallSink
  readonly #input: InputSource
  readonly #lastMs: number
  readonly #acceptedUrls: string[] = []
  #down: DownstreamCall | undefined
  #round: QuestionRound | undefined
  #pause: Timer | undefined
  #rounds = 0
  #pauses = 0
  #isOver = false

  constructor(link: Pick<Downlink, 'call'>, request: Request, sink: CallSink, input: InputSource) {
    this.#link = link
    this.#request = request
    this.#sink = sink
    this.#input = input
    this.#lastMs = input.clock.nowMs() + input.limits.totalMs
  }

  isAbout(down: DownstreamCall): boolean {
    return this.#down === down
  }

  get acceptedUrls(): readonly string[] {
    return this.#acceptedUrls
  }

  /** Sends the first attempt; throws the errors of the link. */
  start(): void {
    this.#send(this.#request)
  }

  cancel(reason: CancelReason, onLate?: OnLate): void {
    if (this.#isOver) return
    const down = this.#down
    this.#close(reason)
    if (down === undefined) onLate?.()
    else down.cancel(reason, onLate)
  }

  #send(request: Request): void {
    // A link may end a request before it returns it, when the next attempt may already be in flight.
    const attempt = { isUnderWay: true }
    const sink: CallSink = {
      owner: this.#sink.owner,
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
    const down = this.#link.call(request, sink)
    if (attempt.isUnderWay) this.#down = down
  }

  #ended(outcome: Outcome): void {
    if (outcome.kind !== 'input') {
      this.#finish(this.#rounds > 0 ? midway(outcome) : outcome)
      return
    }
    const { limits, server, clock } = this.#input
    if (this.#rounds >= limits.rounds) {
      this.#abort(`Server ${server} asked for input more than ${limits.rounds} times`)
      return
    }
    this.#rounds += 1
    const plan = this.#input.plan(outcome.result)
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
    const { clock, limits } = this.#input
    const waitMs = Math.min(limits.roundMs, this.#lastMs - clock.nowMs())
    if (waitMs <= 0) {
      this.#outOfTime()
      return
    }
    const over = (end: RoundEnd): void => {
      this.#round = undefined
      this.#acceptedUrls.push(...round.acceptedUrls)
      if (end.is === 'abort') this.#abort(end.words)
      else this.#retry(end.responses, state)
    }
    const round = new QuestionRound({ questions, waitMs, bytes, over }, this.#input)
    this.#round = round
    round.start()
  }

  #retry(responses: JsonText | undefined, state: JsonText | undefined): void {
    if (this.#input.clock.nowMs() >= this.#lastMs) {
      this.#outOfTime()
      return
    }
    try {
      const params = retryParams(this.#request.params, responses, state)
      this.#send(withParams(this.#request, params))
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  #outOfTime(): void {
    this.#abort(`Server ${this.#input.server} asked for input, but no answer arrived in time`)
  }

  #abort(words: string): void {
    this.#acceptedUrls.length = 0
    this.#finish(noInput(this.#request.method, words, this.#input.server))
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#close('the request that it belongs to is over')
    if (outcome.kind === 'result') {
      for (const id of this.#acceptedUrls) this.#input.elicitationComplete(id)
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
