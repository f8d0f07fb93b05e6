import type { Outcome } from './outcome.js'
import { errorCode, RPC_CODES } from './rpc-error.js'

/** The label for values outside of our tables. */
export const OTHER = '_OTHER'

/** The `data.reason` of a connection that ended because the server lost the session. */
export const SESSION_LOST = 'session_lost'

/** The codes defined by JSON-RPC or a revision of MCP. */
const KNOWN_CODES: ReadonlySet<number> = new Set([
  ...[-32700, -32600, -32601, -32602, -32603],
  ...[-32002, -32042, -32020, -32021, -32022],
])

/** Codes that blame the requester, which are not errors of the server. */
const REQUESTER_ERRORS: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002])

/** The attributes `error.type` and `rpc.response.status_code` of a request; empty if not applicable. */
export interface Failure {
  readonly type: string
  readonly code: string
}

/**
 * Classifies the failure of a request (OpenTelemetry, semantic conventions for MCP), as seen by its requester
 * (`client`) or its server (`server`). Only for outcomes that are not successes; undefined means cancelled.
 */
export const failureOf = (outcome: Outcome | undefined, side: 'client' | 'server'): Failure => {
  if (outcome === undefined) return { type: 'cancelled', code: '' }
  if (outcome.kind === 'fault') {
    const code = RPC_CODES[outcome.fault.code]
    const isTheirs = side === 'server' && REQUESTER_ERRORS.has(code)
    return { type: isTheirs ? '' : outcome.fault.code, code: String(code) }
  }
  if (outcome.kind !== 'error') return { type: 'tool_error', code: '' }
  const found = errorCode(outcome.error)
  const code = found !== undefined && KNOWN_CODES.has(found) ? String(found) : OTHER
  const isTheirs = side === 'server' && found !== undefined && REQUESTER_ERRORS.has(found)
  return { type: isTheirs ? '' : code, code }
}
