import { newErrorId } from '../kernel/error-ids.js'
import type { Fault, FaultCode } from '../kernel/faults.js'
import {
  type JsonText,
  kindOf,
  memberOf,
  numberMember,
  objectText,
  textMember,
  textOf,
  withAt,
  withMember,
} from '../kernel/json/text.js'
import { sanitizeLine } from '../secrets/mask.js'

// Errors of servers are edited as text, so that what need not change stays as it came.

/** JSON-RPC codes of the faults that mean the same in every revision (JSON-RPC 2.0 §5.1). */
export const RPC_CODES = {
  'parse-error': -32700,
  'invalid-request': -32600,
  'unknown-method': -32601,
  'invalid-params': -32602,
  'unknown-resource': -32602,
  internal: -32603,
  unavailable: -32603,
  timeout: -32603,
  disconnected: -32603,
  overloaded: -32603,
  unauthorized: -32603,
  forbidden: -32603,
  cancelled: -32603,
  'too-large': -32603,
  'session-lost': -32603,
  'maybe-replaced': -32603,
} as const satisfies Record<FaultCode, number>

/** What `data.reason` says of the faults that a retry may heal, perhaps with another credential. */
const REASONS: Partial<Record<FaultCode, string>> = {
  unavailable: 'unavailable',
  timeout: 'timeout',
  disconnected: 'disconnected',
  overloaded: 'overloaded',
  unauthorized: 'unauthorized',
  forbidden: 'insufficient-scope',
  'too-large': 'too-large',
  'session-lost': 'disconnected',
  'maybe-replaced': 'disconnected',
}

export const errorText = (code: number, message: string, data?: unknown): JsonText =>
  textOf(data === undefined ? { code, message } : { code, message, data })

/** An error of ours for a client: `data.errorId` is what `mcp-proxy why` explains. */
export const ownErrorText = (code: number, message: string, data: object = {}): JsonText =>
  // Words and addresses of servers may stand in it, and what is kept of it is shown.
  errorText(code, message, { ...data, errorId: newErrorId(code, sanitizeLine(message)) })

/** Faults whose message ends in the id of the error: many clients show nothing else. */
const NAMED: ReadonlySet<FaultCode> = new Set([
  ...(['unavailable', 'timeout', 'disconnected', 'overloaded', 'too-large', 'internal'] as const),
])

/**
 * Encodes a fault under `code` for a client, in `words`, with the id of the error. Faults that a retry may
 * heal carry `data.reason` (the fault's own, else its code), which tells a server that is down from one that
 * answered with an error.
 */
export const faultText = (
  fault: Fault,
  code: number = RPC_CODES[fault.code],
  errorId: string = newErrorId(code, fault.message, fault.code),
  words: string = fault.message,
): JsonText => {
  const message = NAMED.has(fault.code) ? `${words} (${errorId})` : words
  return errorText(code, message, { ...dataOf(fault), errorId })
}

/** The same for a server, which has nobody to ask. */
export const bareFaultText = (fault: Fault): JsonText =>
  errorText(RPC_CODES[fault.code], fault.message, dataOf(fault))

const dataOf = (fault: Fault): object | undefined => {
  const reason = REASONS[fault.code]
  return reason === undefined ? fault.data : { reason, ...fault.data }
}

/** The code of a JSON-RPC error; undefined if it has none, or one that is not an integer. */
export const errorCode = (error: JsonText): number | undefined => {
  const code = numberMember(error, 'code')
  return Number.isInteger(code) ? code : undefined
}

export const withErrorCode = (error: JsonText, code: number): JsonText =>
  withMember(error, 'code', textOf(code))

/** Adds a member to `data`; data that is no object moves to `data.data`. */
export const withErrorData = (error: JsonText, key: string, value: JsonText): JsonText => {
  const data = memberOf(error, 'data')
  if (data === undefined || kindOf(data) === 'object' || kindOf(data) === 'null') {
    return withAt(error, ['data', key], value)
  }
  return withMember(
    error,
    'data',
    objectText([
      [key, value],
      ['data', data],
    ]),
  )
}

/** Hides a code that must not be passed on; programs find it in `data.code`. */
export const asInternalError = (error: JsonText, code: number): JsonText =>
  withErrorCode(withErrorData(error, 'code', textOf(code)), RPC_CODES.internal)

/**
 * Makes a server's error readable for any client. `-32700` and `-32600` blame *our* message, which would
 * mislead the client; without a message or an integer code SDK clients reject the whole response.
 */
export const repairError = (error: JsonText, server: string): JsonText => {
  const code = errorCode(error)
  const complete =
    textMember(error, 'message') === undefined ? withMember(error, 'message', textOf('')) : error
  const isOurFault = code === RPC_CODES['parse-error'] || code === RPC_CODES['invalid-request']
  if (code !== undefined && !isOurFault) return complete
  const mapped = withErrorCode(complete, RPC_CODES.internal)
  return isOurFault && memberOf(mapped, 'data') === undefined
    ? withMember(mapped, 'data', textOf({ server }))
    : mapped
}
