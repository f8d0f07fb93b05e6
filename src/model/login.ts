import type { Fault } from '../kernel/faults.js'

/** Why a server cannot be asked as somebody; also the states of a server that wants a login. */
export type LoginReason = 'needs-auth' | 'needs-client' | 'auth-unreachable' | 'insufficient-scope'

const REASONS: ReadonlySet<unknown> = new Set<LoginReason>([
  'needs-auth',
  'needs-client',
  'auth-unreachable',
  'insufficient-scope',
])

/** The reason of a fault that a login mends; undefined for any other. */
export const loginReasonOf = ({ data }: Fault): LoginReason | undefined => {
  const reason = data?.['reason']
  return REASONS.has(reason) ? (reason as LoginReason) : undefined
}
