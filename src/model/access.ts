import type { Caller } from '../kernel/caller.js'
import { Fault } from '../kernel/faults.js'

/** PORT. What callers may do with one server. */
export interface Access {
  /** Whether the server exists for a caller: else nothing of it is shown, or answered in another way. */
  sees(caller: Caller): boolean
  /**
   * The scopes that a call of a tool needs, if the caller lacks one of them; `tool` is the server's own name.
   */
  lacking(caller: Caller, tool: string): readonly string[] | undefined
}

/** The refusal of a call that needs scopes which its caller lacks (RFC 6750 §3.1, `insufficient_scope`). */
export const insufficientScope = (scopes: readonly string[]): Fault => {
  const scope = scopes.join(' ')
  return new Fault('forbidden', `The credential does not allow this; it needs the scope ${scope}`, {
    data: { scope },
  })
}
