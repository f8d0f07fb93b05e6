import { Fault } from '../../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, textOf } from '../../../kernel/json/text.js'
import type { ServerRequest } from '../../../model/links.js'
import { type Answer, resulted } from '../../../model/outcome.js'
import { bareAnswer, isAnswer } from '../answers.js'
import { noAnswer } from '../no-input.js'
import type { KeyedQuestion } from '../requests.js'

/** Who keeps time for a call and must know that it waits for a person: its live call. */
export interface Waiter {
  serverRequested(ask: ServerRequest): void
  answered(ask: ServerRequest): void
}

/** A question of a server that is not answered yet. */
export interface OpenQuestion {
  readonly ask: ServerRequest
  readonly waiter: Waiter
  /** What the live call holds in place of the question: were it the question itself, it would answer it too. */
  readonly standIn: ServerRequest
  /** Undefined until a round has told the client of it. */
  key: string | undefined
  beats: number
}

/** The questions of one parked call, in the order in which they came; each is answered once, or withdrawn. */
export class ParkedQuestions {
  readonly #open = new Set<OpenQuestion>()
  readonly #onEmpty: () => void

  /** `onEmpty` is told when the last question was answered or withdrawn, not when all are taken. */
  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty
  }

  get size(): number {
    return this.#open.size
  }

  /** What of the server's words is kept for them. */
  get bytes(): number {
    let bytes = 0
    for (const { ask } of this.#open) bytes += ask.params?.length ?? 0
    return bytes
  }

  add(ask: ServerRequest, waiter: Waiter): void {
    const standIn: ServerRequest = {
      method: ask.method,
      params: ask.params,
      about: undefined,
      wantsProgress: false,
      answer: outcome =>
        this.settle(
          question,
          outcome.kind === 'fault' ? noAnswer(ask.method, outcome.fault.message) : outcome,
        ),
      progress: () => undefined,
      onWithdrawn: undefined,
    }
    const question: OpenQuestion = { ask, waiter, standIn, key: undefined, beats: 0 }
    this.#open.add(question)
    ask.onWithdrawn = () => {
      this.#drop(question)
    }
    waiter.serverRequested(standIn)
  }

  /** Gives every open question a key of this round: keys of earlier rounds are never used again. */
  number(round: number): void {
    let n = 0
    for (const question of this.#open) {
      n += 1
      question.key = `${round}-${n}`
    }
  }

  /** What the client was told of and has not answered. */
  get keyed(): readonly KeyedQuestion[] {
    return [...this.#open].flatMap(({ key, ask: { method, params } }) =>
      key === undefined ? [] : [{ key, method, params }],
    )
  }

  /** What `inputResponses` answer; unknown keys are ignored. A Fault if anything that counts is no answer. */
  read(responses: JsonText | undefined): ReadonlyMap<OpenQuestion, Answer> | Fault {
    const answers = new Map<OpenQuestion, Answer>()
    if (responses === undefined) return answers
    if (kindOf(responses) !== 'object') return new Fault('invalid-params', 'inputResponses must be an object')
    for (const question of this.#open) {
      const { key, ask } = question
      const answer = key === undefined ? undefined : memberOf(responses, key)
      if (answer === undefined) continue
      if (!isAnswer(ask.method, answer)) {
        return new Fault('invalid-params', `inputResponses: ${key} is no answer to ${ask.method}`)
      }
      answers.set(question, resulted(bareAnswer(ask.method, answer)))
    }
    return answers
  }

  /** Answers those that `refusal` has an answer to. */
  refuse(refusal: (ask: ServerRequest) => Answer | undefined): void {
    for (const question of [...this.#open]) {
      const outcome = refusal(question.ask)
      if (outcome !== undefined) this.settle(question, outcome)
    }
  }

  /** Answers a question, unless it was before. */
  settle(question: OpenQuestion, outcome: Answer): void {
    if (this.#drop(question)) question.ask.answer(outcome)
  }

  /** All that is open; answering it is up to the caller from now on. */
  takeAll(): readonly ServerRequest[] {
    const questions = [...this.#open]
    this.#open.clear()
    for (const question of questions) release(question)
    return questions.map(({ ask }) => ask)
  }

  /** Tells servers that want to hear of progress that there is some: it rises by one each time. */
  beat(): void {
    for (const question of [...this.#open]) {
      if (!question.ask.wantsProgress) continue
      question.beats += 1
      question.ask.progress(textOf({ progress: question.beats }))
    }
  }

  #drop(question: OpenQuestion): boolean {
    if (!this.#open.delete(question)) return false
    release(question)
    if (this.#open.size === 0) this.#onEmpty()
    return true
  }
}

const release = ({ waiter, standIn }: OpenQuestion): void => {
  waiter.answered(standIn)
}
