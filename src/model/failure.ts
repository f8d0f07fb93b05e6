import type { Outcome } from './outcome.js'
import { errorCode, RPC_CODES } from './rpc-error.js'

/** A value that stands for all that is in none of our tables. */
export const OTHER = '_OTHER'

/** The codes that a revision of MCP, or JSON-RPC, defines. */
const KNOWN_CODES: ReadonlySet<number> = new Set([
  ...[-32700, -32600, -32601, -32602, -32603],
  ...[-32002, -32042, -32020, -32021, -32022],
])

/** The codes that say that whoever asked is wrong, which is no error of the one who was asked. */
const ASKERS_FAULT: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002])

/** `error.type` and `rpc.response.status_code` of a request; empty where there is none. */
export interface Failure {
  readonly type: string
  readonly code: string
}

export const isFine = (outcome: Outcome): boolean =>
  outcome.kind === 'result' ? outcome.isError !== true : outcome.kind === 'input' || outcome.kind === 'task'

/**
 * How a request failed (OpenTelemetry, semantic conventions for MCP), seen by whoever made it (`client`) or
 * served it (`server`). Only for an outcome that is not fine; without one it was cancelled.
 */
export const failureOf = (outcome: Outcome | undefined, side: 'client' | 'server'): Failure => {
  if (outcome === undefined) return { type: 'cancelled', code: '' }
  if (outcome.kind === 'fault') {
    const code = RPC_CODES[outcome.fault.code]
    const isTheirs = side === 'server' && ASKERS_FAULT.has(code)
    return { type: isTheirs ? '' : outcome.fault.code, code: String(code) }
  }
  if (outcome.kind !== 'error') return { type: 'tool_error', code: '' }
  const found = errorCode(outcome.error)
  const code = found !== undefined && KNOWN_CODES.has(found) ? String(found) : OTHER
  const isTheirs = side === 'server' && found !== undefined && ASKERS_FAULT.has(found)
  return { type: isTheirs ? '' : code, code }
}
