import type { Clock, Timer } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, stringOf } from '../kernel/json-text.js'
import type { Ask, CallSink, CancelReason, DownCall, Downlink, Request } from '../model/links.js'
import { type Answer, failed, type Outcome } from '../model/outcome.js'
import {
  collectRound,
  pauseMs,
  planRound,
  type RoundContext,
  type RoundQuestion,
  retryParams,
} from './input-rounds.js'
import { noInput } from './no-input.js'

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

/** What driving rounds needs. */
export interface RoundOptions extends RoundContext {
  readonly clock: Clock
  readonly limits: RoundLimits
  /** One form after the other, for hosts that show only one at a time; other questions never wait. */
  readonly isSequential: boolean
  /** Puts a question to the client, on the stream of its request; `ask.onWithdrawn` is set by whoever does. */
  ask(ask: Ask): void
  /** The request went well for which the client sent its user to a page: told before its result. */
  elicitationComplete(elicitationId: string): void
}

/** A question at the client. */
interface OpenRound {
  readonly questions: readonly RoundQuestion[]
  readonly state: JsonText | undefined
  readonly answers: Map<string, Answer>
  readonly asks: Map<string, RoundAsk>
  /** Forms that wait for the one before. */
  readonly waiting: RoundQuestion[]
}

/**
 * One request of a legacy client at a modern server, which returns questions instead of asking them: the client is asked, and
 * the request made again with the answers, until it ends (2026-07-28, basic/patterns/mrtr). For the caller it is one call.
 */
export class RoundDriver implements DownCall {
  readonly #link: Pick<Downlink, 'call'>
  readonly #request: Request
  readonly #sink: CallSink
  readonly #options: RoundOptions
  readonly #lastMs: number
  readonly #elicitations: string[] = []
  #down: DownCall | undefined
  #round: OpenRound | undefined
  /** The end of a round, or of a pause. */
  #timer: Timer | undefined
  #rounds = 0
  #pauses = 0
  #isOver = false

  constructor(link: Pick<Downlink, 'call'>, request: Request, sink: CallSink, options: RoundOptions) {
    this.#link = link
    this.#request = request
    this.#sink = sink
    this.#options = options
    this.#lastMs = options.clock.nowMs() + options.limits.totalMs
  }

  /** The request at the server, if one is under way. */
  get current(): DownCall | undefined {
    return this.#down
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
      progress: text => {
        if (attempt.isUnderWay && !this.#isOver) this.#sink.progress(text)
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
      this.#finish(outcome)
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
        this.#timer = clock.after(pauseMs(this.#pauses), () => this.#retry(undefined, plan.state))
        this.#pauses += 1
        return
      case 'ask':
        this.#pauses = 0
        this.#ask(plan.questions, plan.state)
    }
  }

  #ask(questions: readonly RoundQuestion[], state: JsonText | undefined): void {
    const { clock, limits, isSequential } = this.#options
    const waitMs = Math.min(limits.roundMs, this.#lastMs - clock.nowMs())
    if (waitMs <= 0) {
      this.#outOfTime()
      return
    }
    const forms = isSequential ? questions.filter(({ method }) => method === 'elicitation/create') : []
    const [, ...waiting] = forms
    const round: OpenRound = { questions, state, answers: new Map(), asks: new Map(), waiting: [...waiting] }
    this.#round = round
    this.#timer = clock.after(waitMs, () => this.#outOfTime())
    for (const question of questions) if (!waiting.includes(question)) this.#askOne(round, question)
  }

  #askOne(round: OpenRound, question: RoundQuestion): void {
    if (this.#round !== round) return
    const ask = new RoundAsk(question, outcome => this.#answered(round, question, outcome))
    round.asks.set(question.key, ask)
    this.#options.ask(ask)
  }

  #answered(round: OpenRound, question: RoundQuestion, outcome: Answer): void {
    if (this.#round !== round) return
    round.asks.delete(question.key)
    // Nobody is there any more: the server must not take that for an answer.
    if (outcome.kind === 'fault' && outcome.fault.code === 'disconnected') {
      this.#abort(outcome.fault.message)
      return
    }
    round.answers.set(question.key, outcome)
    const { elicitationId } = question
    if (elicitationId !== undefined && isAccepted(outcome)) this.#elicitations.push(elicitationId)
    // One answer that ends the request makes the other questions pointless.
    const answered = round.questions.filter(({ key }) => round.answers.has(key))
    const end = collectRound(answered, round.answers, this.#options.server)
    if (end.is === 'abort') this.#abort(end.words)
    else if (answered.length === round.questions.length) this.#retry(end.responses, round.state)
    else if (question.method === 'elicitation/create') {
      const next = round.waiting.shift()
      if (next !== undefined) this.#askOne(round, next)
    }
  }

  #retry(responses: JsonText | undefined, state: JsonText | undefined): void {
    this.#timer?.cancel()
    this.#round = undefined
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
    this.#finish(noInput(this.#request.method, words))
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
    const asks = [...(this.#round?.asks.values() ?? [])]
    this.#isOver = true
    this.#round = undefined
    this.#down = undefined
    this.#timer?.cancel()
    for (const ask of asks) ask.withdraw(reason)
  }
}

const isAccepted = (outcome: Answer): boolean =>
  outcome.kind === 'result' && stringOf(memberOf(outcome.result, 'action')) === 'accept'

/** A question that a server returned, on its way to the client as if the server had asked it. */
class RoundAsk implements Ask {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about = undefined
  readonly wantsProgress = false
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly #onAnswer: (outcome: Answer) => void
  #isOver = false

  constructor({ method, params }: RoundQuestion, onAnswer: (outcome: Answer) => void) {
    this.method = method
    this.params = params
    this.#onAnswer = onAnswer
  }

  answer(outcome: Answer): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onAnswer(outcome)
  }

  progress(): void {
    // A modern server has no use for progress on its questions.
  }

  withdraw(reason: CancelReason): void {
    if (this.#isOver) return
    this.#isOver = true
    this.onWithdrawn?.(reason)
  }
}
