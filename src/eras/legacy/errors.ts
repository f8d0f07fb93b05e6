import type { Fault } from '../../kernel/faults.js'
import { type JsonText, memberOf, textOf, valueOf, withMember } from '../../kernel/json-text.js'
import { faultText, RPC_CODES } from '../../model/fault-table.js'
import { textMember } from './decode.js'

/** Resource not found, in the revisions before 2026-07-28 (server/resources, "Error Handling"). */
const RESOURCE_NOT_FOUND = -32002

/** A fault of ours as a legacy client reads it. */
export const encodeFault = (fault: Fault): JsonText =>
  faultText(fault, fault.code === 'unknown-resource' ? RESOURCE_NOT_FOUND : RPC_CODES[fault.code])

/**
 * A legacy server's error as any client may read it. `-32700` and `-32600` say that *our* message was at fault, which
 * would mislead the client; a missing message or a code that is no integer would make SDK clients reject the frame.
 */
export const repairError = (error: JsonText, server: string): JsonText => {
  const code = memberOf(error, 'code')
  const number = code === undefined ? undefined : valueOf(code)
  if (!Number.isInteger(number)) {
    return withMember(withMessage(error), 'code', textOf(RPC_CODES.internal))
  }
  if (number === RPC_CODES['parse-error'] || number === RPC_CODES['invalid-request']) {
    const mapped = withMember(withMessage(error), 'code', textOf(RPC_CODES.internal))
    return memberOf(mapped, 'data') === undefined ? withMember(mapped, 'data', textOf({ server })) : mapped
  }
  return withMessage(error)
}

const withMessage = (error: JsonText): JsonText =>
  textMember(error, 'message') === undefined ? withMember(error, 'message', textOf('')) : error
