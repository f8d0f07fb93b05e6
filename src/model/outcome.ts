import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { CacheHints } from './cache-hints.js'
import type { Revision } from './revision.js'

/**
 * A final answer. `result` and `error` are the peer's own text, as it came; `fault` is ours and gets its code
 * and wording where it is encoded.
 */
export type Answer =
  | {
      readonly kind: 'result'
      readonly result: JsonText
      /** No step on the way to its client needs to look at it again (`plainOf` in content.ts). */
      readonly isPlain?: boolean | undefined
      /** Whether a plain one has structured output, which clients older than 2025-06-18 must not get. */
      readonly isStructured?: boolean | undefined
      /** Whether it is that of a tool which says that it failed. */
      readonly isError?: boolean | undefined
      /** How long it may be kept, where the text does not say so. */
      readonly hints?: CacheHints | undefined
    }
  | {
      readonly kind: 'error'
      readonly error: JsonText
      /** The revision whose codes it uses, if known: some codes mean something else in another one. */
      readonly revision?: Revision | undefined
      /** The name of the server whose words they are, if known, for words of our own about them. */
      readonly server?: string | undefined
    }
  | {
      readonly kind: 'fault'
      readonly fault: Fault
      /** What its client reads in place of the fault's message, where that must not be masked. */
      readonly words?: string | undefined
      /** By which its client can ask why; set where it is encoded for one. */
      errorId?: string | undefined
    }

/**
 * How a request ended: with an answer; with an `InputRequiredResult` (2026-07-28), which reaches only clients
 * that know it; or with a task (2025-11-25, basic/utilities/tasks, `CreateTaskResult`; an extension of
 * 2026-07-28), which reaches only whoever follows it here.
 */
export type Outcome =
  | Answer
  | { readonly kind: 'input'; readonly result: JsonText }
  | { readonly kind: 'task'; readonly result: JsonText }

/** Where one request's single outcome is told. */
export type Settle = (outcome: Outcome) => void

/** Where the single answer to a question is told. */
export type Reply = (answer: Answer) => void

export const succeeded = (result: JsonText): Answer => ({ kind: 'result', result })

export const failed = (fault: Fault): Answer => ({ kind: 'fault', fault })

/** The size of an outcome's text in bytes; a fault gets its text only where it is encoded. */
export const bytesOf = (outcome: Outcome): number =>
  outcome.kind === 'fault' ? 0 : outcome.kind === 'error' ? outcome.error.length : outcome.result.length

/** The answer for those who cannot be asked and follow no tasks: both end the request. */
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
 * How a later request of a call, such as one about a task, ended: "not run" is not true of those before it,
 * and must not make anybody begin anew.
 */
export const midway = (outcome: Outcome): Outcome => {
  if (outcome.kind !== 'fault') return outcome
  const { code, message, data = {} } = outcome.fault
  return code === 'session-lost' || code === 'maybe-replaced'
    ? failed(new Fault('disconnected', message, { data, cause: outcome.fault }))
    : outcome
}
