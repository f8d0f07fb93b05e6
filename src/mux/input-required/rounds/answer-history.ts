import type { JsonText } from '../../../kernel/json/text.js'
import { bareParams } from '../requests.js'
import { questionHash } from '../retry/digests.js'
import type { AskedQuestion, History } from '../retry/sealed-state.js'

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
