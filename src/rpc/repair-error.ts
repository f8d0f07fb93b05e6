import { type JsonText, memberOf, textMember, textOf, valueOf, withMember } from '../kernel/json/text.js'
import { RPC_CODES } from '../model/fault-table.js'

/**
 * A server's error as any client may read it. `-32700` and `-32600` say that *our* message was at fault, which
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
