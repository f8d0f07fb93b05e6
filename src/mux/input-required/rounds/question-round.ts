import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { ByteAccount, Holding } from '../../../kernel/byte-account.js'
import { type JsonText, textMember } from '../../../kernel/json/text.js'
import type { CancelReason, ServerRequest } from '../../../model/links.js'
import type { Answer } from '../../../model/outcome.js'
import { collectRound, type RoundEnd, type RoundQuestion } from './input-rounds.js'

/** How the questions of a round are put. */
export interface QuestionRoundOptions {
  /** For texts that clients read. */
  readonly server: string
  readonly clock: Clock
  /** How long the client may take for all of them. */
  readonly waitMs: number
  /** What of the server's words stays meanwhile, and where that is counted. */
  readonly bytes: number
  readonly account: ByteAccount
  /** One form after the other, for hosts that show only one at a time; other questions never wait. */
  readonly isSequential: boolean
  /** Puts a question to the client; `ask.onWithdrawn` is set by whoever does. */
  ask(request: ServerRequest): void
  /** Told once, unless the round is withdrawn before. */
  over(end: RoundEnd): void
}

/** Questions that a server returned, at a client that is asked one by one: until all are answered, or one ends it. */
export class QuestionRound {
  readonly #questions: readonly RoundQuestion[]
  readonly #options: QuestionRoundOptions
  readonly #answers = new Map<string, Answer>()
  readonly #requests = new Map<string, RoundRequest>()
  /** Forms that wait for the one before. */
  readonly #waiting: RoundQuestion[]
  #limit: Timer | undefined
  #holding: Holding | undefined
  #isOver = false

  constructor(questions: readonly RoundQuestion[], options: QuestionRoundOptions) {
    const forms = options.isSequential
      ? questions.filter(({ method }) => method === 'elicitation/create')
      : []
    this.#questions = questions
    this.#options = options
    this.#waiting = forms.slice(1)
  }

  /** The elicitations of ours with which the user was sent to a page and agreed. */
  get acceptedUrls(): readonly string[] {
    return this.#questions.flatMap(({ key, elicitationId }) =>
      elicitationId !== undefined && isAccepted(this.#answers.get(key)) ? [elicitationId] : [],
    )
  }

  /** Asks; may be over before it returns. */
  start(): void {
    const { clock, waitMs, server, account, bytes } = this.#options
    this.#holding = account.reserve(bytes)
    if (this.#holding === undefined) {
      this.#end({ is: 'abort', words: `Server ${server} asked for input when too much waits for clients` })
      return
    }
    const later = new Set(this.#waiting)
    this.#limit = clock.after(waitMs, () => {
      this.#end({ is: 'abort', words: `Server ${server} asked for input that did not come in time` })
    })
    for (const question of this.#questions) if (!later.has(question)) this.#ask(question)
  }

  /** Nobody wants to know any more: the client is told to stop asking. */
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
    this.#options.ask(request)
  }

  #answered({ key, method }: RoundQuestion, outcome: Answer): void {
    if (this.#isOver) return
    this.#requests.delete(key)
    // Nobody is there any more: the server must not take that for an answer.
    if (outcome.kind === 'fault' && outcome.fault.code === 'disconnected') {
      this.#end({ is: 'abort', words: outcome.fault.message })
      return
    }
    this.#answers.set(key, outcome)
    // One answer that ends the request makes the other questions pointless.
    const answered = this.#questions.filter(question => this.#answers.has(question.key))
    const end = collectRound(answered, this.#answers, this.#options.server)
    if (end.is === 'abort' || answered.length === this.#questions.length) this.#end(end)
    else if (method === 'elicitation/create') {
      const next = this.#waiting.shift()
      if (next !== undefined) this.#ask(next)
    }
  }

  #end(end: RoundEnd): void {
    if (this.#isOver) return
    this.withdraw('the request that it belongs to is over')
    this.#options.over(end)
  }
}

const isAccepted = (outcome: Answer | undefined): boolean =>
  outcome?.kind === 'result' && textMember(outcome.result, 'action') === 'accept'

/** A question that a server returned, on its way to the client as if the server had asked it. */
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
