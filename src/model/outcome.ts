import type { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json-text.js'

/**
 * How a request ended. `result` and `error` are the peer's own text, carried as it came; `fault` is ours and
 * gets its code and wording where it is encoded.
 */
export type Outcome =
  | { readonly kind: 'result'; readonly result: JsonText }
  | { readonly kind: 'error'; readonly error: JsonText }
  | { readonly kind: 'fault'; readonly fault: Fault }

/** Where one request's single outcome is told. */
export type Settle = (outcome: Outcome) => void

/** An outcome made of a peer's or our own result text. */
export const resulted = (result: JsonText): Outcome => ({ kind: 'result', result })

/** An outcome that says what we could not do. */
export const failed = (fault: Fault): Outcome => ({ kind: 'fault', fault })
