import { type Cause, cause } from '../../diagnostics/explain.js'
import type { FaultCode } from '../../kernel/faults.js'
import type { KeptError } from '../../mux/calls/fault-log.js'

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

/** Returns the cause of an error that a client received. */
export const causeOfError = (error: KeptError): Cause => {
  const { server = 'NAME', name = '', method = '', message } = error
  const facts = { server, name, method: method || 'the request', message }
  const fault = error.fault ?? BY_CODE[error.code]
  if (fault === undefined) return cause('error', facts)
  if (fault !== 'invalid-params' && fault !== 'unknown-resource') return cause(`error.${fault}`, facts)
  return cause(error.name === undefined ? 'error.invalid-params' : 'error.unknown-name', facts)
}
