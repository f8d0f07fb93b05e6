import type { PassedHeaders } from './header-patterns.js'

/**
 * The owner of data: sessions, subscriptions and shared connections never cross principals. `local`,
 * `anonymous ADDRESS`, `person NAME`, or the issuer and subject of a token, separated by a space.
 */
export type Principal = string

/** Identifies the credential of a caller, so that it can be checked again. */
export interface Proof {
  /** The hash of the token. */
  readonly sha256: string
  /** True if a configured issuer issued the token, so that no table here holds it. */
  readonly isFromIssuer: boolean
}

/** The sender of a request, as far as its credential proves it. */
export interface Caller {
  readonly principal: Principal
  /** The scopes granted, with all that they imply; undefined where no authorization is configured. */
  readonly scopes: ReadonlySet<string> | undefined
  /** The expiry of the credential, in milliseconds since 1970; `Infinity` if it has none. */
  readonly endsMs: number
  /** Every copy of a caller keeps it: scopes without a proof are worthless when they are checked again. */
  readonly proof?: Proof | undefined
  /** The absolute folder that the client works in, as its connection reports; undefined if unknown. */
  readonly workspace?: string | undefined
  /** The name of the requested view, which exists. */
  readonly view?: string | undefined
  /** The replica that received the request; undefined if it is this one. */
  readonly edge?: string | undefined
  /** The folder that the client was started in, used if it reports no other. */
  readonly cwd?: string | undefined
  /** Headers of the HTTP request that any server gets (`forwardHeaders`). */
  readonly headers?: PassedHeaders | undefined
}

/** Re-evaluates a caller under the current rules; undefined if its credential is no longer valid. */
export type RenewCaller = (caller: Caller) => Caller | undefined

/** Makes a caller that needs no credential. */
export const unauthenticatedCaller = (principal: Principal): Caller => ({
  principal,
  scopes: undefined,
  endsMs: Number.POSITIVE_INFINITY,
})

/**
 * A program of the user that runs the proxy: on stdio, a local socket, or loopback without authorization.
 */
export const LOCAL = unauthenticatedCaller('local')

/** Returns whether the credential of a caller has expired. */
export const hasEnded = ({ endsMs }: Caller): boolean =>
  endsMs !== Number.POSITIVE_INFINITY && endsMs <= Date.now()

/** Returns whether two callers have the same scopes. */
export const haveSameScopes = ({ scopes: one }: Caller, { scopes: other }: Caller): boolean =>
  one === other ||
  (one !== undefined && one.size === other?.size && [...one].every(scope => other.has(scope)))
