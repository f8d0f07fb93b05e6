import type { Fault } from '../../kernel/faults.js'
import { listOfMethod } from '../../model/listing.js'

/** Requests that only read; `tools/call` may do anything, and the others change the session. */
const READS: ReadonlySet<string> = new Set([
  'ping',
  'resources/read',
  'resources/directory/read',
  'skills/get',
  'prompts/get',
  'completion/complete',
  'server/discover',
  'tasks/get',
  'tasks/result',
])

/**
 * Returns whether a request may be sent again after its connection closed, when the server may have run it
 * (RFC 9110 §9.2.2).
 */
export const isSafe = (method: string): boolean => listOfMethod(method) !== undefined || READS.has(method)

/** Returns whether a request is sent again after a Fault; a kept connection may close as it goes out. */
export const isWorthRepeating = (fault: Fault, method: string): boolean =>
  fault.code === 'disconnected' && isSafe(method)
