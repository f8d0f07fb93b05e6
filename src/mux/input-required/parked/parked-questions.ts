import { Fault } from '../../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, textOf } from '../../../kernel/json/text.js'
import type { ServerRequest } from '../../../model/links.js'
import { type Answer, failed, succeeded } from '../../../model/outcome.js'
import type { ClientCapabilities } from '../../../model/peer.js'
import { canBeAsked, incapable } from '../client-capabilities.js'
import { bareAnswer, isAnswer, type KeyedQuestion, noAnswer, questionParams } from '../questions.js'
import { questionHash } from '../retry/request-states.js'
import type { AskedQuestion, History } from '../retry/sealed-state.js'

/** Times a call while it waits for a user: its in-flight call. */
export interface Waiter {
  serverRequested(request: ServerRequest): void
  answered(request: ServerRequest): void
}

export interface OpenQuestion {
  readonly request: ServerRequest
  readonly waiter: Waiter
  /** Replaces the question in the in-flight call, which would also answer it. */
  readonly standIn: ServerRequest
  /** Undefined until a round has sent it to the client. */
  key: string | undefined
  beats: number
}

/** The open questions of a parked call, oldest first; each is answered once, or withdrawn. */
export class ParkedQuestions {
  readonly #open = new Set<OpenQuestion>()
  readonly #onEmpty: () => void

  /** `onEmpty` is called when the last question was answered or withdrawn, not when all are taken. */
  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty
  }

  get size(): number {
    return this.#open.size
  }

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

  /** Assigns every open question a key of this round; keys of earlier rounds are never reused. */
  number(round: number): void {
    let n = 0
    for (const question of this.#open) {
      n += 1
      question.key = `${round}-${n}`
    }
  }

  get keyed(): readonly KeyedQuestion[] {
    return [...this.#open].flatMap(({ key, request: { method, params } }) =>
      key === undefined ? [] : [{ key, method, params }],
    )
  }

  /** Reads `inputResponses`; unknown keys are ignored. Returns a Fault for a malformed answer. */
  read(responses: JsonText | undefined): ReadonlyMap<OpenQuestion, Answer> | Fault {
    const answers = new Map<OpenQuestion, Answer>()
    if (responses === undefined) return answers
    if (kindOf(responses) !== 'object') return new Fault('invalid-params', 'inputResponses must be an object')
    for (const question of this.#open) {
      const { key, request } = question
      const answer = key === undefined ? undefined : memberOf(responses, key)
      if (answer === undefined) continue
      if (!isAnswer(request.method, answer)) {
        return new Fault('invalid-params', `inputResponses: ${key} is not an answer to ${request.method}`)
      }
      answers.set(question, succeeded(bareAnswer(request.method, answer)))
    }
    return answers
  }

  failUnless(capabilities: ClientCapabilities): void {
    for (const question of [...this.#open]) {
      const { request } = question
      if (!canBeAsked(request, capabilities)) this.settle(question, failed(incapable(request)))
    }
  }

  settle(question: OpenQuestion, outcome: Answer): void {
    if (this.#drop(question)) question.request.answer(outcome)
  }

  /** Takes all open questions; the caller must answer them. */
  takeAll(): readonly ServerRequest[] {
    const questions = [...this.#open]
    this.#open.clear()
    for (const question of questions) release(question)
    return questions.map(({ request }) => request)
  }

  /** Sends progress to servers that want it; it rises by one each time. */
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

/** Answers questions that will not be asked any more. */
export const answerAll = (questions: readonly ServerRequest[]): void => {
  for (const request of questions) request.answer(noAnswer(request.method, 'Client did not provide input'))
}

/** Longer answers are not kept, since the history travels twice per round. */
const HISTORY_MAX_BYTES = 8 * 1024

interface Question {
  readonly method: string
  readonly params: JsonText | undefined
}

/**
 * The answers of a call. If it is lost, its next run asks the same again, and the user should answer once.
 */
export class AnswerHistory {
  #entries: History
  /** Answers of an earlier run that were not needed yet. */
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

  /** Takes the answer of an earlier run to this question, one per time it was asked. */
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

export const askedUnder = (questions: readonly (Question & { readonly key: string })[]): AskedQuestion[] =>
  questions.map(({ key, method, params }) => ({ key, method, question: hashOf({ method, params }) }))

/** Hashes a question without per-request data such as its progress token. */
const hashOf = ({ method, params }: Question): string => questionHash(method, questionParams(method, params))

const sizeOf = ([question, answer]: readonly [string, JsonText]): number => question.length + answer.length
