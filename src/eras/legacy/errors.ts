import { newErrorId } from '../../kernel/error-ids.js'
import type { Fault } from '../../kernel/faults.js'
import {
  at,
  EMPTY,
  isEmpty,
  type JsonText,
  membersOf,
  stringOf,
  textOf,
  withMember,
} from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import type { Answer } from '../../model/outcome.js'
import { asInternalError, errorCode, faultText, RPC_CODES, withErrorCode } from '../../model/rpc-error.js'
import { MODERN_CODES } from '../shared/protocol.js'

/** Resource not found, in the revisions before 2026-07-28 (server/resources, "Error Handling"). */
const RESOURCE_NOT_FOUND = -32002

/** Encodes a fault for a legacy client. */
export const encodeLegacyFault = (fault: Fault, errorId?: string): JsonText =>
  faultText(fault, codeOf(fault), errorId)

const codeOf = ({ code }: Fault): number =>
  code === 'unknown-resource' ? RESOURCE_NOT_FOUND : RPC_CODES[code]

/** Encodes the fault that ends a call, and sets its error id, by which the client can look it up. */
export const encodeLegacyEnd = (end: Answer & { readonly kind: 'fault' }): JsonText => {
  const { fault, message } = end
  const code = codeOf(fault)
  end.errorId = newErrorId(code, fault.message, fault.code)
  return faultText(fault, code, end.errorId, message)
}

/**
 * Projects a modern server's error to legacy codes; `uri` is set for `resources/read`, whose "not found" had
 * its own code.
 */
export const projectLegacyError = (
  error: JsonText,
  { server, uri }: { readonly server: string | undefined; readonly uri: string | undefined },
): JsonText => {
  const code = errorCode(error)
  if (code === RPC_CODES['invalid-params']) {
    const isThat = uri !== undefined && stringOf(at(error, 'data', 'uri')) === uri
    return isThat ? withErrorCode(error, RESOURCE_NOT_FOUND) : error
  }
  if (code === MODERN_CODES.missingCapability) {
    const names = capabilityNames(at(error, 'data', 'requiredCapabilities') ?? EMPTY)
    const what = names === '' ? 'a client capability' : `client capability ${names}`
    const message = `${server === undefined ? 'The server' : `Server ${server}`} requires ${sanitizeLine(what)}`
    return withErrorCode(withMember(error, 'message', textOf(message)), RPC_CODES.internal)
  }
  const isModern = code === MODERN_CODES.headerMismatch || code === MODERN_CODES.unsupportedVersion
  return isModern ? asInternalError(error, code) : error
}

/** Lists the required capabilities in readable form: `sampling, elicitation.url`. */
const capabilityNames = (required: JsonText): string => {
  const names: string[] = []
  for (const { key, value } of membersOf(required)) {
    if (isEmpty(value)) names.push(key)
    for (const inner of membersOf(value)) if (names.length < NAMES_MAX) names.push(`${key}.${inner.key}`)
    if (names.length >= NAMES_MAX) break
  }
  return names.join(', ')
}

const NAMES_MAX = 20
