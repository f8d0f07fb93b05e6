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
    ? `what the client sent with ${method || 'it'} is not what MCP asks for there: update the client`
    : `mcp-proxy why "${name}" says what became of it; if it is there, have the client read its lists again`

const ASK_CLIENT = 'its message says what is not as it should be: change that, or update the client'
const AGAIN = 'have the client send it again'

/** What somebody can do who reads that a client was told of a fault. */
const FIXES = {
  'parse-error': () => 'what the client sent is not JSON: update it, or tell its maintainers',
  'invalid-request': () => ASK_CLIENT,
  'unknown-method': () => 'the client asks for what no server here offers, or its revision of MCP has not',
  'invalid-params': ofName,
  'unknown-resource': ofName,
  internal: () => 'this should not happen: report it with the lines of mcp-proxy logs at that time',
  unavailable: error => `${about('doctor --server')(error)} finds out what is wrong`,
  timeout: ({ server = SERVER }) =>
    `if it may be silent or take that long, raise "timeouts.call" or "timeouts.total" of ${server}`,
  disconnected: error => `${about('logs')(error)} shows what it wrote before; ${AGAIN}`,
  overloaded: () => 'the message names the limit that was reached: raise it, or ask for less at a time',
  unauthorized: about('auth login'),
  forbidden: error => `the credential lacks a scope that the message names: ${about('auth login')(error)}`,
  cancelled: () => 'nothing: nobody waited for it any more',
  'too-large': () => 'ask for less at a time, or raise the limit that the message names',
  'session-lost': () => `the server forgot its session before it ran the request: ${AGAIN}`,
  'maybe-replaced': () => 'the server was replaced meanwhile: see whether it ran, then have it sent again',
} as const satisfies Record<FaultCode, Fix>

/** The faults of those errors that are refused before anybody makes a fault of them (JSON-RPC 2.0 §5.1). */
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

/** What to do about an error; undefined where its message says all there is. */
export const fixFor = (error: KeptError): string | undefined => {
  const fault = error.fault ?? BY_CODE[error.code]
  return fault && FIXES[fault](error)
}
