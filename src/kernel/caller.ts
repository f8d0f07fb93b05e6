/**
 * Whose data this is: sessions, subscriptions and shared connections never cross principals. `local`,
 * `anonymous ADDRESS`, `person NAME`, or the issuer and subject of a token, separated by a space.
 */
export type Principal = string

/** The credential of a caller, by which it can be checked again. */
export interface Proof {
  /** Of the token. */
  readonly sha256: string
  /** Whether an issuer of the configuration gave it out, so that no table here holds it. */
  readonly isFromIssuer: boolean
}

/** Who sends a request, as far as a credential proves it. */
export interface Caller {
  readonly principal: Principal
  /** What its credential allows, with all that this implies; undefined where nobody has to prove anything. */
  readonly scopes: ReadonlySet<string> | undefined
  /** When its credential ends, in milliseconds since 1970; `Infinity` if it does not. */
  readonly endsMs: number
  /** Each copy of a caller keeps it: scopes without a proof are worth nothing when they are checked again. */
  readonly proof?: Proof | undefined
  /** The folder that it works in, absolute, as its way in says; undefined if that is not known. */
  readonly workspace?: string | undefined
  /** The name of the view that its way in asks for; one that exists. */
  readonly view?: string | undefined
  /** The replica that it came by; undefined if that is this one. */
  readonly edge?: string | undefined
  /** The folder that it was started in, and works in if it knows no better. */
  readonly cwd?: string | undefined
}

/** Who a caller is by the rules of now; undefined if its credential is no longer good. */
export type RenewCaller = (caller: Caller) => Caller | undefined

/** Someone who has to prove nothing. */
export const unauthenticatedCaller = (principal: Principal): Caller => ({
  principal,
  scopes: undefined,
  endsMs: Number.POSITIVE_INFINITY,
})

/** A program of the user we run as: on stdio, on a local socket, or on loopback without authorization. */
export const LOCAL = unauthenticatedCaller('local')

/** Whether the credential of a caller has ended by now. */
export const hasEnded = ({ endsMs }: Caller): boolean =>
  endsMs !== Number.POSITIVE_INFINITY && endsMs <= Date.now()

/** Whether two callers may do the same. */
export const haveSameScopes = ({ scopes: one }: Caller, { scopes: other }: Caller): boolean =>
  one === other ||
  (one !== undefined && one.size === other?.size && [...one].every(scope => other.has(scope)))
