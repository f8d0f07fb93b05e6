import type { Discovery } from './discover.js'
import type { PrivateJwk } from './dpop.js'
import type { Client, Tokens } from './tokens.js'

/** Where an authorization server sends people back to: a port of this machine, our own page, or nowhere. */
type RedirectKind = 'loopback' | 'web' | 'none'

/** The scopes that a server asked for in vain, and how often a person was sent for them. */
export interface StepUp {
  readonly scopes: readonly string[]
  /** Logins that asked for these. */
  readonly attempts: number
  /** Logins for any scopes, since `sinceMs` by the wall clock. */
  readonly total: number
  readonly sinceMs: number
}

/** All that is kept about an owner's login at a server. Secret. */
export interface CredentialRecord {
  readonly version: 1
  /** The server's, without its query. */
  readonly url: string
  /** `shared`, or a principal. */
  readonly owner: string
  readonly redirect: RedirectKind
  readonly discovery: Discovery
  /** By the wall clock. */
  readonly discoveredMs: number
  readonly client?: Client | undefined
  readonly tokens?: Tokens | undefined
  /** The scopes that the login asked for. */
  readonly asked?: readonly string[] | undefined
  readonly stepUp?: StepUp | undefined
  /** What the tokens are bound to, if they are. */
  readonly dpopKey?: PrivateJwk | undefined
  /** What the authorization server last answered instead of tokens, for operators. */
  readonly problem?: string | undefined
  /** When the store took it, by the wall clock. */
  readonly savedMs?: number
}

/** Which records a server may use. */
export interface CredentialPlace {
  readonly url: string
  readonly owner: string
}

/**
 * PORT. Keeps credentials beyond this process. `save` returns once the record is on disk; all of them throw
 * a Fault `unavailable` if that cannot be done.
 */
export interface CredentialStore {
  /** The newest record of a place; those that others could read or write are not believed. */
  find(place: CredentialPlace): CredentialRecord | undefined
  /** The same record as it is now. */
  read(record: CredentialRecord): CredentialRecord | undefined
  save(record: CredentialRecord): void
  remove(record: CredentialRecord): void
  /** Runs `work` while no other process does, for the same record. */
  locked<T>(record: CredentialRecord, work: () => T | Promise<T>): Promise<T>
  /** The same for work that uses up what is kept: of several replicas, too, one does so at a time. */
  renewing<T>(record: CredentialRecord, work: () => Promise<T>): Promise<T>
}
