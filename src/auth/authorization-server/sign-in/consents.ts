import type { Principal } from '../../../kernel/caller.js'
import { tokenHash } from '../../../kernel/secrets/personal-token.js'
import type { Kept, TokenStore } from '../token-store.js'

/** A user's consent for a client, or a redirect URI that a user accepted. */
export interface Consent extends Kept {
  readonly principal: Principal
  readonly clientId: string
  /** Scopes of each consent; empty for a redirect URI. */
  readonly allowed: readonly (readonly string[])[]
}

/** Identifies a consent by user, resources, and the client's redirect host. */
export interface ConsentQuestion {
  readonly principal: Principal
  readonly clientId: string
  readonly host: string
  readonly resources: readonly string[]
  readonly scopes: readonly string[]
}

/** An unused consent expires after this time. */
const KEPT_S = 180 * 86_400
/** Maximum number of kept scope sets, newest first. */
const MOST_SETS = 8

const keyOf = ({ principal, clientId, host, resources }: ConsentQuestion): string =>
  tokenHash(JSON.stringify([principal, clientId, host, [...resources].sort()]))

const redirectKey = (clientId: string, redirectUri: string): string =>
  tokenHash(JSON.stringify(['redirect', clientId, redirectUri]))

const includesAll = (all: readonly string[], some: readonly string[]): boolean =>
  some.every(each => all.includes(each))

/** Stored consents of users for clients; kept on the server, never in a cookie. */
export class Consents {
  readonly #store: TokenStore<Consent>

  constructor(store: TokenStore<Consent>) {
    this.#store = store
  }

  /** Reports whether one earlier consent covers the question. */
  covers(question: ConsentQuestion): boolean {
    const key = keyOf(question)
    const kept = this.#store.get(key)
    if (kept?.allowed.some(scopes => includesAll(scopes, question.scopes)) !== true) return false
    this.#prolong(key, kept)
    return true
  }

  async add(question: ConsentQuestion): Promise<void> {
    const { principal, clientId, scopes } = question
    const before = this.#store.get(keyOf(question))?.allowed ?? []
    const others = before.filter(each => !includesAll(scopes, each))
    const allowed = [...others, scopes].slice(-MOST_SETS)
    await this.#store.set(keyOf(question), { principal, clientId, allowed, exp: nowS() + KEPT_S })
  }

  /** Reports whether a user accepted a redirect URI of a client before (RFC 9700 §4.11.2). */
  isKnownRedirect(clientId: string, redirectUri: string): boolean {
    return this.#store.get(redirectKey(clientId, redirectUri)) !== undefined
  }

  async addRedirect(principal: Principal, clientId: string, redirectUri: string): Promise<void> {
    const key = redirectKey(clientId, redirectUri)
    const kept = this.#store.get(key)
    if (kept !== undefined) this.#prolong(key, kept)
    else await this.#store.set(key, { principal, clientId, allowed: [], exp: nowS() + KEPT_S })
  }

  /** Deletes all consents for a client. */
  async forget(clientId: string): Promise<void> {
    await this.#store.delete(...this.#store.family(clientId))
  }

  /** Extends the expiry after use; writes only occasionally. */
  #prolong(key: string, kept: Consent): void {
    if ((kept.exp ?? 0) - nowS() < KEPT_S / 2) void this.#store.set(key, { ...kept, exp: nowS() + KEPT_S })
  }
}

const nowS = (): number => Math.floor(Date.now() / 1000)
