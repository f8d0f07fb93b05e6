import type { Principal } from '../../../kernel/caller.js'
import { tokenHash } from '../../../secrets/personal-token.js'
import type { Kept, Shelf } from '../shelf.js'

/** What somebody once allowed. */
export interface Consent extends Kept {
  readonly scopes: readonly string[]
}

/** What is allowed, and to whom: a client that gets its codes at this host. */
export interface ConsentQuestion {
  readonly principal: Principal
  readonly clientId: string
  readonly host: string
  readonly scopes: readonly string[]
}

const keyOf = ({ principal, clientId, host }: ConsentQuestion): string =>
  tokenHash(JSON.stringify([principal, clientId, host]))

/** Who allowed which client what (AU-51); kept here, never in a cookie (AX-11). */
export class Consents {
  readonly #shelf: Shelf<Consent>

  constructor(shelf: Shelf<Consent>) {
    this.#shelf = shelf
  }

  covers(question: ConsentQuestion): boolean {
    const allowed = this.#shelf.get(keyOf(question))?.scopes
    return allowed !== undefined && question.scopes.every(scope => allowed.includes(scope))
  }

  async add(question: ConsentQuestion): Promise<void> {
    const before = this.#shelf.get(keyOf(question))?.scopes ?? []
    await this.#shelf.set(keyOf(question), { scopes: [...new Set([...before, ...question.scopes])] })
  }
}
