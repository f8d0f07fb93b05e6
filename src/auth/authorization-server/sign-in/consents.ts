import type { Principal } from '../../../kernel/caller.js'
import { tokenHash } from '../../../secrets/personal-token.js'
import type { Kept, Shelf } from '../shelf.js'

/** What a user allowed a client, or that a user sent codes to a redirect URI. */
export interface Consent extends Kept {
  readonly principal: Principal
  readonly clientId: string
  /** The scopes of each consent; none for a redirect URI. */
  readonly allowed: readonly (readonly string[])[]
}

/** Who allows what, at which resources, and to a client that receives its codes at this host. */
export interface ConsentQuestion {
  readonly principal: Principal
  readonly clientId: string
  readonly host: string
  readonly resources: readonly string[]
  readonly scopes: readonly string[]
}

/** After so long without use, the user is asked again. */
const KEPT_S = 180 * 86_400
/** Of different sets of scopes, the latest count. */
const MOST_SETS = 8

const keyOf = ({ principal, clientId, host, resources }: ConsentQuestion): string =>
  tokenHash(JSON.stringify([principal, clientId, host, [...resources].sort()]))

const redirectKey = (clientId: string, redirectUri: string): string =>
  tokenHash(JSON.stringify(['redirect', clientId, redirectUri]))

const includesAll = (all: readonly string[], some: readonly string[]): boolean =>
  some.every(each => all.includes(each))

/** Who allowed which client what (AU-51); kept here, never in a cookie (AX-11). */
export class Consents {
  readonly #shelf: Shelf<Consent>

  constructor(shelf: Shelf<Consent>) {
    this.#shelf = shelf
  }

  /** Whether one earlier consent includes all of this. */
  covers(question: ConsentQuestion): boolean {
    const key = keyOf(question)
    const kept = this.#shelf.get(key)
    if (kept?.allowed.some(scopes => includesAll(scopes, question.scopes)) !== true) return false
    this.#prolong(key, kept)
    return true
  }

  async add(question: ConsentQuestion): Promise<void> {
    const { principal, clientId, scopes } = question
    const before = this.#shelf.get(keyOf(question))?.allowed ?? []
    const others = before.filter(each => !includesAll(scopes, each))
    const allowed = [...others, scopes].slice(-MOST_SETS)
    await this.#shelf.set(keyOf(question), { principal, clientId, allowed, exp: nowS() + KEPT_S })
  }

  /** Whether a user has sent codes to a redirect URI of a client (RFC 9700 §4.11.2). */
  isKnownRedirect(clientId: string, redirectUri: string): boolean {
    return this.#shelf.get(redirectKey(clientId, redirectUri)) !== undefined
  }

  async addRedirect(principal: Principal, clientId: string, redirectUri: string): Promise<void> {
    const key = redirectKey(clientId, redirectUri)
    const kept = this.#shelf.get(key)
    if (kept !== undefined) this.#prolong(key, kept)
    else await this.#shelf.set(key, { principal, clientId, allowed: [], exp: nowS() + KEPT_S })
  }

  /** Forgets everything that was allowed to a client. */
  async forget(clientId: string): Promise<void> {
    await this.#shelf.delete(...this.#shelf.family(clientId))
  }

  /** Counts from the last use; written only now and then. */
  #prolong(key: string, kept: Consent): void {
    if ((kept.exp ?? 0) - nowS() < KEPT_S / 2) void this.#shelf.set(key, { ...kept, exp: nowS() + KEPT_S })
  }
}

const nowS = (): number => Math.floor(Date.now() / 1000)
