import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json-text.js'
import type { CacheHints } from './cache-hints.js'
import type { Revision } from './revision.js'

/**
 * What was answered for good. `result` and `error` are the peer's own text, carried as it came; `fault` is ours and gets its
 * code and wording where it is encoded.
 */
export type Answer =
  | {
      readonly kind: 'result'
      readonly result: JsonText
      /** How long it may be kept, where the text does not say so. */
      readonly hints?: CacheHints | undefined
    }
  | {
      readonly kind: 'error'
      readonly error: JsonText
      /** The revision whose codes it is written in, if known: some codes mean something else in another one. */
      readonly revision?: Revision | undefined
      /** The name of the server whose words they are, if known, for words of our own about them. */
      readonly server?: string | undefined
    }
  | { readonly kind: 'fault'; readonly fault: Fault }

/**
 * How a request ended: with an answer, or with a result that wants input before there can be one (2026-07-28,
 * `InputRequiredResult`), which reaches only clients that know it.
 */
export type Outcome = Answer | { readonly kind: 'input'; readonly result: JsonText }

/** Where one request's single outcome is told. */
export type Settle = (outcome: Outcome) => void

/** Where the single answer to a question is told. */
export type Reply = (answer: Answer) => void

/** An answer made of a peer's or our own result text. */
export const resulted = (result: JsonText): Answer => ({ kind: 'result', result })

/** An answer that says what we could not do. */
export const failed = (fault: Fault): Answer => ({ kind: 'fault', fault })

/** The answer that an outcome is, for those who cannot be asked: wanting their input ends the request. */
export const answerOf = (outcome: Outcome): Answer =>
  outcome.kind === 'input'
    ? failed(new Fault('internal', 'The server asked for input, which cannot be given here'))
    : outcome
