import type { Fault } from '../kernel/faults.js'

/** The reason why a server rejects our credential; also a state of servers that require a login. */
export type LoginReason = 'needs-auth' | 'needs-client' | 'auth-unreachable' | 'insufficient-scope'

/** The `data.reason` of a server whose credentials only the configuration can provide. */
export const NEEDS_CREDENTIALS = 'needs_credentials'

const REASONS: ReadonlySet<unknown> = new Set<LoginReason>([
  'needs-auth',
  'needs-client',
  'auth-unreachable',
  'insufficient-scope',
])

/** Returns the reason of a fault that a login fixes; undefined for any other. */
export const loginReasonOf = ({ data }: Fault): LoginReason | undefined => {
  const reason = data?.['reason']
  return REASONS.has(reason) ? (reason as LoginReason) : undefined
}
