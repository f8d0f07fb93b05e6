import { type JsonText, memberOf } from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { LEGACY_REVISIONS, type Revision } from '../../model/revision.js'
import { errorText, MISSING_CAPABILITY, RPC_CODES } from '../../model/rpc-error.js'
import { idKey, isId } from '../../wire/jsonrpc.js'

/** The first revision without a handshake. */
export const MODERN_REVISION = '2026-07-28'

/** A stateless revision: each request names its version in `_meta`. */
export type ModernRevision = Exclude<Revision, (typeof LEGACY_REVISIONS)[number]>

/** Revisions without a handshake, newest first. */
export const MODERN_REVISIONS = [MODERN_REVISION] as const satisfies readonly ModernRevision[]

/** Revisions that `initialize` may agree on, newest first. */
export const SUPPORTED_LEGACY: readonly string[] = [...LEGACY_REVISIONS].reverse()

/** Returns whether a version string names a modern revision of ours. */
export const isModernRevision = (version: string): version is ModernRevision =>
  (MODERN_REVISIONS as readonly string[]).includes(version)

/** Returns whether a version is older than the modern era; anything other than a date counts as newer. */
export const isBeforeModern = (version: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(version) && version < MODERN_REVISION

/** Returns whether a header lists a modern version, known or not. */
export const claimsModern = (header: string): boolean =>
  header === MODERN_REVISION ||
  (!SUPPORTED_LEGACY.includes(header) &&
    header
      .split(',')
      .map(one => one.trim())
      .some(one => /^\d{4}-\d{2}-\d{2}$/.test(one) && one >= MODERN_REVISION))

/** Error codes that 2026-07-28 defines, each with HTTP status 400 (basic, "Error Codes"). */
export const MODERN_CODES = {
  headerMismatch: -32020,
  missingCapability: MISSING_CAPABILITY,
  unsupportedVersion: -32022,
} as const

/** The prefix of the keys that the specification reserves in `_meta` (basic, "_meta"). */
export const RESERVED = 'io.modelcontextprotocol/'

/** Reserved keys of `_meta` in 2026-07-28. */
export const META = {
  protocolVersion: `${RESERVED}protocolVersion`,
  clientCapabilities: `${RESERVED}clientCapabilities`,
  clientInfo: `${RESERVED}clientInfo`,
  logLevel: `${RESERVED}logLevel`,
  serverInfo: `${RESERVED}serverInfo`,
  subscriptionId: `${RESERVED}subscriptionId`,
} as const

/** Keys that exist only in 2025-11-25 (basic/utilities/tasks). */
export const TASK_KEYS: readonly string[] = ['related-task', 'model-immediate-response'].map(
  name => RESERVED + name,
)

/** Returns the key of the request that a `notifications/cancelled` names; undefined if none. */
export const cancelledKey = (params: JsonText | undefined): string | undefined => {
  const id = params && memberOf(params, 'requestId')
  return id !== undefined && isId(id) ? idKey(id) : undefined
}

/** Makes the error for a server request that the proxy does not serve. */
export const methodNotFound = (method: string): JsonText =>
  errorText(RPC_CODES['unknown-method'], `Method not found: ${sanitizeLine(method)}`)
