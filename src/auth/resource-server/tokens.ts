import type { Principal } from '../../kernel/caller.js'

/** The verified content of a token. */
export interface VerifiedToken {
  /** `Caller.principal`; for a token of an issuer, the issuer and the subject, separated by a space. */
  readonly principal: Principal
  /** Audience of the token; undefined if it is valid for all endpoints. */
  readonly audience: readonly string[] | undefined
  /** Granted scopes, without implied ones. */
  readonly scopes: readonly string[]
  /** Groups of the user; `grants` may add scopes for them. */
  readonly groups: readonly string[]
  /** Expiry in milliseconds since 1970; `Infinity` if none. */
  readonly endsMs: number
}

/**
 * PORT. Locally known tokens: configured ones, and those issued by the embedded authorization server. Looked
 * up by SHA-256, so that no comparison depends on a secret.
 */
export interface TokenTable {
  /** Returns undefined for an unknown token; an expired one may still be known. */
  find(sha256: string): VerifiedToken | undefined
  /** Loads a token from other replicas. Rejects with a Fault `unavailable` if they do not answer. */
  readonly seek?: ((sha256: string) => Promise<void>) | undefined
}

/** The result of checking a token. */
export type TokenVerdict =
  /** Valid without another check for `keepMs`. */
  | { readonly is: 'good'; readonly token: VerifiedToken; readonly keepMs: number }
  /** `why` is a generic text for the client. */
  | { readonly is: 'invalid'; readonly why: string }
  /** The issuer cannot be reached now. */
  | { readonly is: 'unavailable' }
  /** Only the issuer can tell, and requests were not allowed. */
  | { readonly is: 'unasked' }

/** PORT. Checks tokens of other issuers. Never rejects. */
export interface TokenVerifier {
  verify(token: string, asks: Asks): Promise<TokenVerdict>
}

/** Requests allowed for a check: none, only the first one for the keys of an issuer, or any. */
export type Asks = 'nothing' | 'keys' | 'anything'
