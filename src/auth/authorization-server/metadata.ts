import type { EmbeddedServer } from '../../config/types.js'

/** Endpoint paths: the defaults of clients that do not read metadata. */
export const ENDPOINTS = {
  authorization: '/authorize',
  token: '/token',
  registration: '/register',
  revocation: '/revoke',
  jwks: '/oauth/jwks',
} as const

/** Path of the sign-in pages. */
export const SIGN_IN_PATH = '/oauth/sign-in'

/** Path to which identity providers and authorization servers send browsers back. */
export const CALLBACK_PATH = '/oauth/callback'

/**
 * Creates the metadata of the authorization server at a base address (RFC 8414), which is also an OpenID
 * Connect discovery document.
 */
export const metadataOf = (
  base: string,
  embedded: EmbeddedServer,
  scopes: readonly string[],
): Readonly<Record<string, unknown>> => ({
  issuer: base,
  authorization_endpoint: base + ENDPOINTS.authorization,
  token_endpoint: base + ENDPOINTS.token,
  ...(embedded.registration === 'open' && { registration_endpoint: base + ENDPOINTS.registration }),
  revocation_endpoint: base + ENDPOINTS.revocation,
  jwks_uri: base + ENDPOINTS.jwks,
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

/** Authentication methods and key algorithms of clients; `none` is for public clients, which use PKCE. */
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
export const AUTH_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA'] as const
