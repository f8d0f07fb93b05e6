import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { CacheHints } from './cache-hints.js'
import type { Revision } from './revision.js'

/**
 * A final answer. `result` and `error` are the peer's own text, unchanged; `fault` is ours and is encoded
 * later.
 */
export type Answer =
  | {
      readonly kind: 'result'
      readonly result: JsonText
      /** True if no further step has to inspect it (`plainOf` in content.ts). */
      readonly isPlain?: boolean | undefined
      /** True if it is plain and has structured output, which clients before 2025-06-18 must not get. */
      readonly isStructured?: boolean | undefined
      /** True if it is a tool result that reports a failure. */
      readonly isError?: boolean | undefined
      /** The cache hints, where the text has none. */
      readonly hints?: CacheHints | undefined
      /** The revision of the server whose result passes unchanged; undefined for results that are adapted. */
      readonly passedFrom?: Revision | undefined
    }
  | {
      readonly kind: 'error'
      readonly error: JsonText
      /** The revision that defines its code, if known: some codes differ between revisions. */
      readonly revision?: Revision | undefined
      /** The server that sent it, if known, for messages about it. */
      readonly server?: string | undefined
    }
  | {
      readonly kind: 'fault'
      readonly fault: Fault
      /** The message for the client instead of the fault's, where it must not be masked. */
      readonly message?: string | undefined
      /** The id by which the client can look it up; set by the encoder. */
      errorId?: string | undefined
    }

/**
 * The end of a request: an answer; an `InputRequiredResult` (2026-07-28), which only reaches clients that
 * know it; or a task (2025-11-25, basic/utilities/tasks, `CreateTaskResult`; an extension of 2026-07-28),
 * which only reaches components that follow it.
 */
export type Outcome =
  | Answer
  | { readonly kind: 'input'; readonly result: JsonText }
  | { readonly kind: 'task'; readonly result: JsonText }

/** Receives the single outcome of one request. */
export type Settle = (outcome: Outcome) => void

/** Receives the single answer to a question. */
export type Reply = (answer: Answer) => void

export const succeeded = (result: JsonText): Answer => ({ kind: 'result', result })

export const failed = (fault: Fault): Answer => ({ kind: 'fault', fault })

/** Returns whether an outcome is not a failure. */
export const isFine = (outcome: Outcome): boolean =>
  outcome.kind === 'result' ? outcome.isError !== true : outcome.kind === 'input' || outcome.kind === 'task'

/** Returns the size of an outcome's text in bytes; 0 for a fault, which is encoded later. */
export const bytesOf = (outcome: Outcome): number =>
  outcome.kind === 'fault' ? 0 : outcome.kind === 'error' ? outcome.error.length : outcome.result.length

/** Converts an outcome for a client that can neither be asked nor follow tasks. */
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
 * Converts the outcome of a later request of a call, such as one about a task: earlier requests did run, so
 * that "not run" must not cause a retry.
 */
export const midway = (outcome: Outcome): Outcome => {
  if (outcome.kind !== 'fault') return outcome
  const { code, message, data = {} } = outcome.fault
  return code === 'session-lost' || code === 'maybe-replaced'
    ? failed(new Fault('disconnected', message, { data, cause: outcome.fault }))
    : outcome
}
