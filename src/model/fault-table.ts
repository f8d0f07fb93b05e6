import type { Fault, FaultCode } from '../kernel/faults.js'
import { type JsonText, textOf } from '../kernel/json/text.js'

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
  cancelled: -32603,
  'too-large': -32603,
  'session-lost': -32603,
  'maybe-replaced': -32603,
} as const satisfies Record<FaultCode, number>

/** A JSON-RPC error object. */
export const errorText = (code: number, message: string, data?: unknown): JsonText =>
  textOf(data === undefined ? { code, message } : { code, message, data })

/**
 * A fault as a JSON-RPC error object under `code`. Faults that retrying may heal carry `data.reason`, so that a
 * program can tell a server that is down from one that answered with an error: what the fault says itself, else its code.
 */
export const faultText = (fault: Fault, code: number = RPC_CODES[fault.code]): JsonText => {
  const reason = REASONS[fault.code]
  const data = reason === undefined ? fault.data : { reason, ...fault.data }
  return errorText(code, fault.message, data)
}

const REASONS: Partial<Record<FaultCode, string>> = {
  unavailable: 'unavailable',
  timeout: 'timeout',
  disconnected: 'disconnected',
  overloaded: 'overloaded',
  unauthorized: 'unauthorized',
  'too-large': 'too-large',
  'session-lost': 'disconnected',
  'maybe-replaced': 'disconnected',
}
