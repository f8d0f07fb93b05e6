import type { Caller } from '../kernel/caller.js'
import { Fault } from '../kernel/faults.js'

/** PORT. The permissions of callers at one server. */
export interface Access {
  /** Returns whether the server is visible to a caller; if not, it is neither listed nor answered for. */
  sees(caller: Caller): boolean
  /**
   * Returns the scopes that a tool call needs, if the caller lacks one of them. `tool` is the server's own
   * name.
   */
  lacking(caller: Caller, tool: string): readonly string[] | undefined
}

/** Makes the refusal of a call whose caller lacks scopes (RFC 6750 §3.1, `insufficient_scope`). */
export const insufficientScope = (scopes: readonly string[]): Fault => {
  const scope = scopes.join(' ')
  return new Fault('forbidden', `The credential does not allow this; it needs the scope ${scope}`, {
    data: { scope },
  })
}
