import type { Endpoints } from './discover.js'
import type { SignIn } from './faults.js'
import type { CredentialPlace, CredentialStore } from './record.js'
import type { AuthorizationContext } from './tokens.js'

/** How we sign in at a server, as its `oauth` says; files stand by what they hold. */
export interface OAuthSettings {
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly issuer?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly redirectUri?: string | undefined
  readonly clientMetadataUrl?: string | undefined
  /**
   * The address of a metadata document that the proxy serves for one issuer; used without
   * `clientMetadataUrl`.
   */
  readonly ownDocument?: ((issuer: string) => string | undefined) | undefined
  readonly grant?: Grant | undefined
  /** A private key (PKCS #8, PEM), or the file that holds it. */
  readonly key?: string | undefined
  readonly idp?: IdentityProvider | undefined
  /** The file that holds the token of a workload (`jwt-bearer`). */
  readonly assertion?: string | undefined
  /** Sent in place of the resource that was found; false for none. */
  readonly resource?: string | false | undefined
  readonly endpoints?: Endpoints | undefined
  readonly allowPrivate?: boolean | undefined
  readonly dpop?: boolean | undefined
}

/** How tokens are got; those that need no person are got by the proxy itself. */
export type Grant = 'authorization_code' | 'device' | 'client_credentials' | 'id-jag' | 'jwt-bearer'

/** Who vouches for the person, for `id-jag`. */
interface IdentityProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  /** The file that holds the person's ID token. */
  readonly idToken: string
}

/** What getting tokens for one server and owner needs. */
export interface TokenSourceContext extends AuthorizationContext, CredentialPlace, SignIn {
  readonly settings: OAuthSettings
  readonly store: CredentialStore
  /** The revision that we would offer the server. */
  readonly revision: string
  /** Reads a file that the configuration names. Rejects with a Fault. */
  readonly readFile: (path: string) => Promise<string>
}
