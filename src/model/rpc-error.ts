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
import { sanitizeLine } from '../kernel/secrets/mask.js'
import type { Answer } from './outcome.js'

// Errors of servers are edited as text, so that the rest stays unchanged.

/** The JSON-RPC codes of faults, the same in every revision (JSON-RPC 2.0 §5.1). */
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
  refused: -32603,
  'session-lost': -32603,
  'maybe-replaced': -32603,
} as const satisfies Record<FaultCode, number>

/** The `data.reason` of faults that a retry may fix, perhaps with another credential. */
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

/** Encodes an error of the proxy for a client, with a `data.errorId` that `mcp-proxy why` explains. */
export const ownErrorText = (code: number, message: string, data: object = {}): JsonText =>
  // The message may quote a server, and is kept for display.
  errorText(code, message, { ...data, errorId: newErrorId(code, sanitizeLine(message)) })

/** Faults whose message ends with the error id, because many clients show nothing else. */
const WITH_ID: ReadonlySet<FaultCode> = new Set([
  ...(['unavailable', 'timeout', 'disconnected', 'overloaded', 'too-large', 'internal', 'refused'] as const),
])

/**
 * Encodes a fault under `code` for a client, with `text` as its message, and with the error id. Faults that a
 * retry may fix carry `data.reason` (the fault's own, else its code), which distinguishes an unavailable
 * server from one that answered with an error.
 */
export const faultText = (
  fault: Fault,
  code: number = RPC_CODES[fault.code],
  errorId: string = newErrorId(code, fault.message, fault.code),
  text: string = fault.message,
): JsonText => {
  const message = WITH_ID.has(fault.code) ? `${text} (${errorId})` : text
  return errorText(code, message, { ...dataOf(fault), errorId })
}

/**
 * Encodes a refused tool call as a result, because clients show results to their model, but not errors
 * (2025-11-25, server/tools, "Error Handling"). Sets its error id. Undefined for all other faults.
 */
export const refusedResult = (
  end: Answer & { readonly kind: 'fault' },
  method: string,
): JsonText | undefined => {
  const { fault, message = fault.message } = end
  if (fault.code !== 'refused' || method !== 'tools/call') return undefined
  end.errorId = newErrorId(RPC_CODES.refused, fault.message, fault.code)
  return textOf({
    content: [{ type: 'text', text: `${message} (${end.errorId})` }],
    isError: true,
    _meta: { 'mcp-proxy/refused': { ...fault.data, errorId: end.errorId } },
  })
}

/** Encodes a fault for a server, without an error id. */
export const bareFaultText = (fault: Fault): JsonText =>
  errorText(RPC_CODES[fault.code], fault.message, dataOf(fault))

const dataOf = (fault: Fault): object | undefined => {
  const reason = REASONS[fault.code]
  return reason === undefined ? fault.data : { reason, ...fault.data }
}

/** The code of a request that needs a capability of its client (2026-07-28, basic, "Error Codes"). */
export const MISSING_CAPABILITY = -32021

/** Makes the error of a request that needs a capability; `required` is a `ClientCapabilities` object. */
export const missingCapability = (required: JsonText): JsonText =>
  objectText([
    ['code', textOf(MISSING_CAPABILITY)],
    ['message', textOf('Missing required client capability')],
    ['data', objectText([['requiredCapabilities', required]])],
  ])

/** Returns the code of a JSON-RPC error; undefined if it is missing or not an integer. */
export const errorCode = (error: JsonText): number | undefined => {
  const code = numberMember(error, 'code')
  return Number.isInteger(code) ? code : undefined
}

export const withErrorCode = (error: JsonText, code: number): JsonText =>
  withMember(error, 'code', textOf(code))

/** Adds a member to `data`; data that is not an object moves to `data.data`. */
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

/** Replaces a code that must not be passed on; programs find it in `data.code`. */
export const asInternalError = (error: JsonText, code: number): JsonText =>
  withErrorCode(withErrorData(error, 'code', textOf(code)), RPC_CODES.internal)

/**
 * Makes a server's error valid for any client. `-32700` and `-32600` blame *our* message, which would mislead
 * the client; SDK clients reject a response whose error has no message or integer code.
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
