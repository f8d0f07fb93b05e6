import { allowInsecureRequests, customFetch, revocationRequest } from 'oauth4webapi'
import type { CredentialRecord } from './record.js'
import { type AuthorizationContext, authenticationOf } from './tokens.js'

/**
 * Revokes tokens (RFC 7009). Resolves with true if the authorization server accepted this, or has no such
 * endpoint; never rejects.
 */
export const revokeTokens = async (
  { fetch }: Pick<AuthorizationContext, 'fetch'>,
  { discovery: { server }, client, tokens }: CredentialRecord,
): Promise<boolean> => {
  if (server.revocation_endpoint === undefined || client === undefined) return true
  const authentication = authenticationOf(client, server)
  const revoke = async (token: string, token_type_hint: string): Promise<boolean> => {
    try {
      const { status } = await revocationRequest(server, { client_id: client.id }, authentication, token, {
        additionalParameters: { token_type_hint },
        [customFetch]: fetch,
        [allowInsecureRequests]: true,
      })
      return status < 300
    } catch {
      return false
    }
  }
  const isRefreshRevoked = tokens?.refresh === undefined || (await revoke(tokens.refresh, 'refresh_token'))
  const isAccessRevoked = tokens === undefined || (await revoke(tokens.access, 'access_token'))
  return isRefreshRevoked && isAccessRevoked
}
