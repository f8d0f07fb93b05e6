import type { FaultCode } from '../../kernel/faults.js'
import type { KeptError } from '../../mux/calls/fault-log.js'

type Fix = (error: KeptError) => string

const SERVER = 'NAME'

const about =
  (verb: string): Fix =>
  ({ server = SERVER }) =>
    `mcp-proxy ${verb} ${server}`

const ofName: Fix = ({ name, method = '' }) =>
  name === undefined
    ? `the client sent invalid parameters for ${method || 'the request'}: update the client`
    : `mcp-proxy why "${name}" explains its state; if it exists, have the client read its lists again`

const ASK_CLIENT = 'correct the problem in the message, or update the client'
const AGAIN = 'have the client send it again'

/** The fix of each fault that a client received. */
const FIXES = {
  'parse-error': () => 'the client sent invalid JSON: update it, or report it to its maintainers',
  'invalid-request': () => ASK_CLIENT,
  'unknown-method': () =>
    'no server supports the method, or the revision of the client lacks it: update the client',
  'invalid-params': ofName,
  'unknown-resource': ofName,
  internal: () => 'this should not happen: report it with the lines of mcp-proxy logs at that time',
  unavailable: error => `${about('doctor --server')(error)} finds the problem`,
  timeout: ({ server = SERVER }) =>
    `if the call needs more time, raise "timeouts.call" or "timeouts.total" of ${server}`,
  disconnected: error => `${about('logs')(error)} shows what it wrote before; ${AGAIN}`,
  overloaded: () => 'the message names the limit that was reached: raise it, or ask for less at a time',
  unauthorized: about('auth login'),
  forbidden: error => `the credential lacks a scope that the message names: ${about('auth login')(error)}`,
  cancelled: () => 'nothing: the client cancelled the request',
  'too-large': () => 'ask for less at a time, or raise the limit that the message names',
  'session-lost': () => `the server forgot its session before it ran the request: ${AGAIN}`,
  'maybe-replaced': () =>
    'the server was replaced during the call: check for its effects before sending it again',
} as const satisfies Record<FaultCode, Fix>

/** The faults of errors without one, by code (JSON-RPC 2.0 §5.1). */
const BY_CODE: Readonly<Record<number, FaultCode>> = {
  [-32700]: 'parse-error',
  [-32600]: 'invalid-request',
  [-32601]: 'unknown-method',
  [-32602]: 'invalid-params',
  // 2026-07-28, basic, "Error Codes".
  [-32020]: 'invalid-request',
  [-32021]: 'invalid-request',
  [-32022]: 'invalid-request',
}

/** Returns the fix of an error. Undefined if its message is sufficient. */
export const fixFor = (error: KeptError): string | undefined => {
  const fault = error.fault ?? BY_CODE[error.code]
  return fault && FIXES[fault](error)
}
