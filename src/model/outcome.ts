import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { CacheHints } from './cache-hints.js'
import type { Revision } from './revision.js'

/**
 * What was answered for good. `result` and `error` are the peer's own text, carried as it came; `fault` is
 * ours and gets its code and wording where it is encoded.
 */
export type Answer =
  | {
      readonly kind: 'result'
      readonly result: JsonText
      /**
       * It is known to be nothing but texts (`isPlain` in content.ts): the same for all, so that nobody need
       * look again.
       */
      readonly isPlain?: boolean | undefined
      /** How long it may be kept, where the text does not say so. */
      readonly hints?: CacheHints | undefined
    }
  | {
      readonly kind: 'error'
      readonly error: JsonText
      /**
       * The revision whose codes it is written in, if known: some codes mean something else in another one.
       */
      readonly revision?: Revision | undefined
      /** The name of the server whose words they are, if known, for words of our own about them. */
      readonly server?: string | undefined
    }
  | { readonly kind: 'fault'; readonly fault: Fault }

/**
 * How a request ended: with an answer; with a result that wants input before there can be one (2026-07-28,
 * `InputRequiredResult`), which reaches only clients that know it; or with a task that goes on in its place
 * (2025-11-25, basic/utilities/tasks, `CreateTaskResult`; an extension of 2026-07-28), which reaches only
 * whoever follows it here.
 */
export type Outcome =
  | Answer
  | { readonly kind: 'input'; readonly result: JsonText }
  | { readonly kind: 'task'; readonly result: JsonText }

/** Where one request's single outcome is told. */
export type Settle = (outcome: Outcome) => void

/** Where the single answer to a question is told. */
export type Reply = (answer: Answer) => void

/** An answer made of a peer's or our own result text. */
export const resulted = (result: JsonText): Answer => ({ kind: 'result', result })

/** An answer that says what we could not do. */
export const failed = (fault: Fault): Answer => ({ kind: 'fault', fault })

/** How long the text of an outcome is, in bytes; a fault gets its text only where it is encoded. */
export const bytesOf = (outcome: Outcome): number =>
  outcome.kind === 'fault' ? 0 : outcome.kind === 'error' ? outcome.error.length : outcome.result.length

/**
 * The answer that an outcome is, for those who cannot be asked and follow no tasks: wanting that ends the
 * request.
 */
export const answerOf = (outcome: Outcome): Answer => {
  switch (outcome.kind) {
    case 'input':
      return failed(new Fault('internal', 'The server asked for input, which cannot be given here'))
    case 'task':
      return failed(
        new Fault('internal', 'The server made a task of the request, which cannot be followed here'),
      )
    case 'result':
    case 'error':
    case 'fault':
      return outcome
  }
}

/**
 * How a request ended that is not the first of what it belongs to, such as a task: a server that did not run
 * this one has run those before it, and must not be made to begin anew.
 */
export const midway = (outcome: Outcome): Outcome => {
  if (outcome.kind !== 'fault') return outcome
  const { code, message, data = {} } = outcome.fault
  return code === 'session-lost' || code === 'maybe-replaced'
    ? failed(new Fault('disconnected', message, { data, cause: outcome.fault }))
    : outcome
}
