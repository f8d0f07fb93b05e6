import { Fault } from '../../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, textOf } from '../../../kernel/json/text.js'
import type { ServerRequest } from '../../../model/links.js'
import { type Answer, resulted } from '../../../model/outcome.js'
import { bareAnswer, isAnswer, noAnswer } from '../answers.js'
import { bareParams, type KeyedQuestion } from '../requests.js'
import { questionHash } from '../retry/request-states.js'
import type { AskedQuestion, History } from '../retry/sealed-state.js'

/** Who keeps time for a call and must know that it waits for a person: its in-flight call. */
export interface Waiter {
  serverRequested(request: ServerRequest): void
  answered(request: ServerRequest): void
}

/** A question of a server that is not answered yet. */
export interface OpenQuestion {
  readonly request: ServerRequest
  readonly waiter: Waiter
  /** What the in-flight call holds in place of the question: were it the question itself, it would answer it too. */
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
    for (const { request } of this.#open) bytes += request.params?.length ?? 0
    return bytes
  }

  add(request: ServerRequest, waiter: Waiter): void {
    const standIn: ServerRequest = {
      method: request.method,
      params: request.params,
      about: undefined,
      wantsProgress: false,
      answer: outcome =>
        this.settle(
          question,
          outcome.kind === 'fault' ? noAnswer(request.method, outcome.fault.message) : outcome,
        ),
      progress: () => undefined,
      onWithdrawn: undefined,
    }
    const question: OpenQuestion = { request, waiter, standIn, key: undefined, beats: 0 }
    this.#open.add(question)
    request.onWithdrawn = () => {
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
    return [...this.#open].flatMap(({ key, request: { method, params } }) =>
      key === undefined ? [] : [{ key, method, params }],
    )
  }

  /** What `inputResponses` answer; unknown keys are ignored. A Fault if anything that counts is no answer. */
  read(responses: JsonText | undefined): ReadonlyMap<OpenQuestion, Answer> | Fault {
    const answers = new Map<OpenQuestion, Answer>()
    if (responses === undefined) return answers
    if (kindOf(responses) !== 'object') return new Fault('invalid-params', 'inputResponses must be an object')
    for (const question of this.#open) {
      const { key, request } = question
      const answer = key === undefined ? undefined : memberOf(responses, key)
      if (answer === undefined) continue
      if (!isAnswer(request.method, answer)) {
        return new Fault('invalid-params', `inputResponses: ${key} is no answer to ${request.method}`)
      }
      answers.set(question, resulted(bareAnswer(request.method, answer)))
    }
    return answers
  }

  /** Answers those that `errorFor` has an answer to. */
  refuse(errorFor: (request: ServerRequest) => Answer | undefined): void {
    for (const question of [...this.#open]) {
      const outcome = errorFor(question.request)
      if (outcome !== undefined) this.settle(question, outcome)
    }
  }

  /** Answers a question, unless it was before. */
  settle(question: OpenQuestion, outcome: Answer): void {
    if (this.#drop(question)) question.request.answer(outcome)
  }

  /** All that is open; answering it is up to the caller from now on. */
  takeAll(): readonly ServerRequest[] {
    const questions = [...this.#open]
    this.#open.clear()
    for (const question of questions) release(question)
    return questions.map(({ request }) => request)
  }

  /** Tells servers that want to hear of progress that there is some: it rises by one each time. */
  beat(): void {
    for (const question of [...this.#open]) {
      if (!question.request.wantsProgress) continue
      question.beats += 1
      question.request.progress(textOf({ progress: question.beats }))
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

/** What is longer is not kept: the history travels twice per round. */
const HISTORY_MAX_BYTES = 8 * 1024

/** A question, whichever way it came. */
interface Question {
  readonly method: string
  readonly params: JsonText | undefined
}

/**
 * What the questions of a call were answered, oldest first: if the call is lost, the next run of it asks the same again, and
 * nobody should have to answer twice.
 */
export class AnswerHistory {
  #entries: History
  /** Of an earlier run, and not asked again so far. */
  readonly #past: (readonly [question: string, answer: JsonText])[]
  #bytes: number

  constructor(past: History = []) {
    this.#entries = past
    this.#past = [...past]
    this.#bytes = past.reduce((sum, entry) => sum + sizeOf(entry), 0)
  }

  get entries(): History {
    return this.#entries
  }

  /** What an earlier run of the call got to this question; asked as often, it is answered as often. */
  take(question: Question): JsonText | undefined {
    if (this.#past.length === 0) return undefined
    const hash = hashOf(question)
    const index = this.#past.findIndex(([known]) => known === hash)
    return index < 0 ? undefined : this.#past.splice(index, 1)[0]?.[1]
  }

  add(question: Question, answer: JsonText): void {
    const entry = [hashOf(question), answer] as const
    if (this.#bytes + sizeOf(entry) > HISTORY_MAX_BYTES) return
    this.#bytes += sizeOf(entry)
    this.#entries = [...this.#entries, entry]
  }
}

/** Questions under their keys, as a state tells them apart. */
export const askedUnder = (questions: readonly (Question & { readonly key: string })[]): AskedQuestion[] =>
  questions.map(({ key, method, params }) => ({ key, method, question: hashOf({ method, params }) }))

/** What belongs to one asking of it, such as its progress token, makes it no other question. */
const hashOf = ({ method, params }: Question): string => questionHash(method, bareParams(method, params))

const sizeOf = ([question, answer]: readonly [string, JsonText]): number => question.length + answer.length
