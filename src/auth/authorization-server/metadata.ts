import type { EmbeddedServer } from '../../config/types.js'

/** The paths of our endpoints (AU-16): clients that read no metadata expect them here. */
export const ENDPOINTS = {
  authorization: '/authorize',
  token: '/token',
  registration: '/register',
  revocation: '/revoke',
  jwks: '/oauth/jwks',
} as const

/** Where the pages are on which people sign in. */
export const SIGN_IN_PATH = '/oauth/sign-in'

/** Where people come back to from wherever we sent them to sign in. */
export const CALLBACK_PATH = '/oauth/callback'

/** Our authorization server metadata (RFC 8414), which is also a discovery document of OpenID Connect. */
export const metadataOf = (
  { origin }: URL,
  embedded: EmbeddedServer,
  scopes: readonly string[],
): Readonly<Record<string, unknown>> => ({
  issuer: origin,
  authorization_endpoint: origin + ENDPOINTS.authorization,
  token_endpoint: origin + ENDPOINTS.token,
  ...(embedded.registration === 'open' && { registration_endpoint: origin + ENDPOINTS.registration }),
  revocation_endpoint: origin + ENDPOINTS.revocation,
  jwks_uri: origin + ENDPOINTS.jwks,
  scopes_supported: [...scopes, 'offline_access'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: [
    'authorization_code',
    'refresh_token',
    ...(embedded.clients.length > 0 ? ['client_credentials'] : []),
  ],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: AUTH_METHODS,
  token_endpoint_auth_signing_alg_values_supported: AUTH_ALGORITHMS,
  revocation_endpoint_auth_methods_supported: AUTH_METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: AUTH_ALGORITHMS,
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
})

/** How clients may prove who they are, and with which keys; `none` is for public ones, which have PKCE. */
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
export const AUTH_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA'] as const
