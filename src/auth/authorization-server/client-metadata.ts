import type { AllClientMetadata, ResponseType } from 'oidc-provider'
import { isNative, redirectUrl } from './redirect-uris.js'

export interface RegistrationRules {
  /** Allowed private-use redirect URIs, compared exactly. */
  readonly privateRedirects: readonly string[]
  readonly grantTypes: readonly string[]
  /** Configured clients, whose metadata stays unchanged. */
  readonly configured: ReadonlySet<string | undefined>
}

/** Maximum stored size of a registration; larger ones contain data that is not needed. */
const MOST_BYTES = 8 * 1024
const MOST_REDIRECTS = 20

/** Metadata that is neither shown nor fetched. */
const UNUSED = [
  'client_uri',
  'contacts',
  'default_acr_values',
  'default_max_age',
  'initiate_login_uri',
  'logo_uri',
  'policy_uri',
  'require_auth_time',
  'scope',
  'sector_identifier_uri',
  'tos_uri',
] as const

/** Reason to refuse a registration, with the error code of RFC 7591 §3.2.2. */
export class ClientRefused extends Error {
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata'

  constructor(code: ClientRefused['code'], message: string) {
    super(message)
    this.code = code
  }
}

const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : []

/**
 * Adjusts a client's metadata in place to what is accepted: drops redirect URIs, grants and response types
 * that are not allowed. A client with any native redirect URI becomes native. Throws ClientRefused if no
 * redirect URI remains.
 */
export const adjustMetadata = (metadata: AllClientMetadata, rules: RegistrationRules): void => {
  if (rules.configured.has(metadata.client_id)) return
  for (const name of UNUSED) metadata[name] = undefined
  metadata.grant_types = strings(metadata.grant_types).filter(type => rules.grantTypes.includes(type))
  if (metadata.client_name !== undefined && typeof metadata.client_name !== 'string')
    delete metadata.client_name
  if (JSON.stringify(metadata).length > MOST_BYTES) {
    throw new ClientRefused('invalid_client_metadata', 'the client metadata is too large')
  }
  metadata.response_types = ['code'] satisfies ResponseType[]
  const uris = strings(metadata.redirect_uris).slice(0, MOST_REDIRECTS)
  const urls = uris.map(uri => redirectUrl(uri, rules.privateRedirects))
  metadata.redirect_uris = uris.filter((_, at) => urls[at] !== undefined)
  if (metadata.redirect_uris.length === 0) {
    throw new ClientRefused(
      'invalid_redirect_uri',
      'redirect_uris must hold an https address, or an http one on localhost, 127.0.0.1 or [::1]',
    )
  }
  metadata.application_type = urls.some(url => url !== undefined && isNative(url)) ? 'native' : 'web'
}
