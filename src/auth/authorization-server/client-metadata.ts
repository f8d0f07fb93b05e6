import type { AllClientMetadata, ResponseType } from 'oidc-provider'
import { isNative, redirectUrl } from './redirect-uris.js'

export interface ClientRules {
  /** Private-use redirect URIs that are allowed, each exactly. */
  readonly privateRedirects: readonly string[]
  readonly grantTypes: readonly string[]
  /** The clients of the configuration, which are as they are. */
  readonly configured: ReadonlySet<string | undefined>
}

/** The most of a registration that is kept; a few use more, to say things that we do not ask. */
const MOST_BYTES = 8 * 1024
const MOST_REDIRECTS = 20

/** What we neither show nor fetch. */
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

/** Why a client cannot be registered, with the error code of RFC 7591 §3.2.2. */
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
 * Makes what a client says about itself what oidc-provider and we accept, in place (AU-47, AU-49, AU-50):
 * redirect URIs, grants and response types that are not allowed are left out, whatever it called itself it is
 * native as soon as one redirect URI is. Throws ClientRefused if no redirect URI remains.
 */
export const adjustMetadata = (metadata: AllClientMetadata, rules: ClientRules): void => {
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
