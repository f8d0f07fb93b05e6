import type { Discovery } from './discover.js'
import type { PrivateJwk } from './dpop.js'
import type { OAuthClient, Tokens } from './tokens.js'

/** Destination of redirects: a loopback port, a page of the proxy, or none. */
type RedirectKind = 'loopback' | 'web' | 'none'

/** Scopes that a server found missing, and the number of logins for them. */
export interface StepUp {
  readonly scopes: readonly string[]
  /** Logins that requested these scopes. */
  readonly attempts: number
  /** Logins for any scopes, since `sinceMs` by the wall clock. */
  readonly total: number
  readonly sinceMs: number
}

/** The stored login of an owner at a server. Secret. */
export interface CredentialRecord {
  readonly version: 1
  /** URL of the server without its query. */
  readonly url: string
  /** `shared`, or a principal. */
  readonly owner: string
  readonly redirect: RedirectKind
  readonly discovery: Discovery
  /** By the wall clock. */
  readonly discoveredMs: number
  readonly client?: OAuthClient | undefined
  readonly tokens?: Tokens | undefined
  /** Scopes requested by the login. */
  readonly asked?: readonly string[] | undefined
  readonly stepUp?: StepUp | undefined
  /** Key of bound tokens. */
  readonly dpopKey?: PrivateJwk | undefined
  /** Last error text of the authorization server, for operators. */
  readonly problem?: string | undefined
  /** Time of storage, by the wall clock. */
  readonly savedMs?: number
}

/** Identifies the records of a server. */
export interface CredentialPlace {
  readonly url: string
  readonly owner: string
}

/**
 * PORT. Stores credentials. `save` returns once the record is on disk. All methods throw a Fault
 * `unavailable` if the store fails.
 */
export interface CredentialStore {
  /** Returns the newest record; ignores files that other users can read or write. */
  find(place: CredentialPlace): CredentialRecord | undefined
  /** Returns the current version of a record. */
  read(record: CredentialRecord): CredentialRecord | undefined
  save(record: CredentialRecord): void
  remove(record: CredentialRecord): void
  /** Runs `work` while no other process works on the same record. */
  locked<T>(record: CredentialRecord, work: () => T | Promise<T>): Promise<T>
  /** Does the same for work that uses up a token, also across replicas. */
  renewing<T>(record: CredentialRecord, work: () => Promise<T>): Promise<T>
}
