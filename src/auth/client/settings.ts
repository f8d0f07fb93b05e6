import type { OAuthEndpoints } from './discover.js'
import type { SignInHint } from './faults.js'
import type { CredentialPlace, CredentialStore } from './record.js'
import type { AuthorizationContext } from './tokens.js'

/** The `oauth` settings of a server, with the content of referenced files. */
export interface OAuthSettings {
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly issuer?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly redirectUri?: string | undefined
  readonly clientMetadataUrl?: string | undefined
  /** Returns the URL of the proxy's own metadata document for an issuer; used without `clientMetadataUrl`. */
  readonly ownDocument?: ((issuer: string) => string | undefined) | undefined
  readonly grant?: Grant | undefined
  /** A private key (PKCS #8, PEM), or the file with it. */
  readonly key?: string | undefined
  readonly idp?: IdentityProvider | undefined
  /** File with the token of a workload (`jwt-bearer`). */
  readonly assertion?: string | undefined
  /** Overrides the discovered resource; false omits it. */
  readonly resource?: string | false | undefined
  readonly endpoints?: OAuthEndpoints | undefined
  readonly allowPrivate?: boolean | undefined
  readonly dpop?: boolean | undefined
}

/** Grant types; the proxy gets tokens itself for those without a user. */
export type Grant = 'authorization_code' | 'device' | 'client_credentials' | 'id-jag' | 'jwt-bearer'

/** The identity provider of the user, for `id-jag`. */
interface IdentityProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  /** File with the user's ID token. */
  readonly idToken: string
}

/** Dependencies for getting tokens of one server and owner. */
export interface TokenSourceContext extends AuthorizationContext, CredentialPlace, SignInHint {
  readonly settings: OAuthSettings
  readonly store: CredentialStore
  /** Revision that the proxy would offer the server. */
  readonly revision: string
  /** Reads a configured file. Rejects with a Fault. */
  readonly readFile: (path: string) => Promise<string>
}
