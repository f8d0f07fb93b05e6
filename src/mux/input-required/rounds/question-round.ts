import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { ByteAccount, Holding } from '../../../kernel/byte-account.js'
import { type JsonText, textMember } from '../../../kernel/json/text.js'
import type { CancelReason, ServerRequest } from '../../../model/links.js'
import type { Answer } from '../../../model/outcome.js'
import { collectRound, type RoundEnd, type RoundPlan, type RoundQuestion } from './input-rounds.js'

/** Limits for asking a client during one request. */
export interface RoundLimits {
  readonly rounds: number
  readonly roundMs: number
  readonly totalMs: number
}

/** Obtains input from the client of one call on behalf of a server. */
export interface InputSource {
  readonly server: string
  readonly clock: Clock
  readonly limits: RoundLimits
  /** Counts the bytes that wait for the client. */
  readonly account: ByteAccount
  /** Plans the questions for the client from a result that needs input. */
  plan(result: JsonText): RoundPlan
  /** Sends a request to the client and sets its `onWithdrawn`. */
  ask(request: ServerRequest): void
  /** Notifies the client that its user has completed a URL elicitation. */
  elicitationComplete(elicitationId: string): void
}

export interface RoundOptions {
  readonly questions: readonly RoundQuestion[]
  readonly waitMs: number
  readonly bytes: number
  /** Called once, unless the round is withdrawn before. */
  over(end: RoundEnd): void
}

/** Sends a server's returned questions to a client, until all are answered or one ends the round. */
export class QuestionRound {
  readonly #options: RoundOptions
  readonly #input: InputSource
  readonly #answers = new Map<string, Answer>()
  readonly #requests = new Map<string, RoundRequest>()
  #limit: Timer | undefined
  #holding: Holding | undefined
  #isOver = false

  constructor(options: RoundOptions, input: InputSource) {
    this.#options = options
    this.#input = input
  }

  get acceptedUrls(): readonly string[] {
    return this.#options.questions.flatMap(({ key, elicitationId }) =>
      elicitationId !== undefined && isAccepted(this.#answers.get(key)) ? [elicitationId] : [],
    )
  }

  /** Asks the questions; the round may be over before this returns. */
  start(): void {
    const { clock, server, account } = this.#input
    const { questions, waitMs, bytes } = this.#options
    this.#holding = account.reserve(bytes)
    if (this.#holding === undefined) {
      this.#end({
        is: 'abort',
        words: `Server ${server} asked for input while too many bytes wait for clients`,
      })
      return
    }
    this.#limit = clock.after(waitMs, () => {
      this.#end({ is: 'abort', words: `Server ${server} asked for input, but no answer arrived in time` })
    })
    for (const question of questions) this.#ask(question)
  }

  /** Ends the round without an outcome, and cancels its requests at the client. */
  withdraw(reason: CancelReason): void {
    this.#isOver = true
    this.#limit?.cancel()
    this.#holding?.set(0)
    const requests = [...this.#requests.values()]
    this.#requests.clear()
    for (const request of requests) request.withdraw(reason)
  }

  #ask(question: RoundQuestion): void {
    if (this.#isOver) return
    const request = new RoundRequest(question, outcome => this.#answered(question, outcome))
    this.#requests.set(question.key, request)
    this.#input.ask(request)
  }

  #answered({ key }: RoundQuestion, outcome: Answer): void {
    if (this.#isOver) return
    this.#requests.delete(key)
    // The client is disconnected; the server must not mistake that for an answer.
    if (outcome.kind === 'fault' && outcome.fault.code === 'disconnected') {
      this.#end({ is: 'abort', words: outcome.fault.message })
      return
    }
    this.#answers.set(key, outcome)
    // An answer that ends the request makes the other questions pointless.
    const { questions } = this.#options
    const answered = questions.filter(question => this.#answers.has(question.key))
    const end = collectRound(answered, this.#answers, this.#input.server)
    if (end.is === 'abort' || answered.length === questions.length) this.#end(end)
  }

  #end(end: RoundEnd): void {
    if (this.#isOver) return
    this.withdraw('the request that it belongs to is over')
    this.#options.over(end)
  }
}

const isAccepted = (outcome: Answer | undefined): boolean =>
  outcome?.kind === 'result' && textMember(outcome.result, 'action') === 'accept'

/** A question that a server returned, as a server request to the client. */
class RoundRequest implements ServerRequest {
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
