import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json-text.js'
import { faultText, RPC_CODES } from '../../model/fault-table.js'

/** Resource not found, in the revisions before 2026-07-28 (server/resources, "Error Handling"). */
const RESOURCE_NOT_FOUND = -32002

/** A fault of ours as a legacy client reads it. */
export const encodeFault = (fault: Fault): JsonText =>
  faultText(fault, fault.code === 'unknown-resource' ? RESOURCE_NOT_FOUND : RPC_CODES[fault.code])
