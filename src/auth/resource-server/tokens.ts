import type { Principal } from '../../kernel/caller.js'

/** What a token proves. */
export interface VerifiedToken {
  /** As `Caller.principal`; for a token of an issuer, the issuer and the subject, separated by a space. */
  readonly principal: Principal
  /** The addresses that it is for; undefined if it is for all of ours. */
  readonly audience: readonly string[] | undefined
  /** What it allows, without what that implies. */
  readonly scopes: readonly string[]
  /** Of whom it stands for; those in `grants` allow more. */
  readonly groups: readonly string[]
  /** When it ends, in milliseconds since 1970; `Infinity` if it does not. */
  readonly endsMs: number
}

/**
 * PORT. Tokens that are known here: those of the configuration, and those that the embedded authorization
 * server gave out. It gets their SHA-256 alone, so that no comparison depends on a secret.
 */
export interface TokenTable {
  /** Undefined for a token that is not, or no longer, known; one that ended may still be known. */
  find(sha256: string): VerifiedToken | undefined
  /** Makes known here what others know of a token. Rejects with a Fault `unavailable` if they do not say. */
  readonly seek?: ((sha256: string) => Promise<void>) | undefined
}

/** The result of checking a token. */
export type Verdict =
  /** It may be taken for good without another check for `keepMs`. */
  | { readonly is: 'good'; readonly token: VerifiedToken; readonly keepMs: number }
  /** `why` is for its sender, in general words. */
  | { readonly is: 'invalid'; readonly why: string }
  /** Whoever knows cannot be asked now. */
  | { readonly is: 'unavailable' }
  /** Only others can tell, and they were not to be asked. */
  | { readonly is: 'unasked' }

/** PORT. Checks tokens that others gave out. Never rejects. */
export interface TokenVerifier {
  verify(token: string, asks: Asks): Promise<Verdict>
}

/** Requests that a check may cause: none, the first one for the keys of an issuer, or any. */
export type Asks = 'nothing' | 'keys' | 'anything'
