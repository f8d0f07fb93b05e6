import type { Clock } from '../../../kernel/async/clock.js'
import { FairMap } from '../../../kernel/fair-share.js'
import type { PendingSignIn } from '../../sign-in/identity-provider.js'

/** A sign-in at the identity provider, and the sign-in of ours that it is for. */
export interface PendingLogin extends PendingSignIn {
  readonly flow: string
}

const LIFE_MS = 10 * 60_000

/** People who are at the identity provider: each comes back once, within ten minutes (AU-58). */
export class PendingLogins {
  readonly #clock: Clock
  readonly #all: FairMap<{ readonly login: PendingLogin; readonly untilMs: number }>

  constructor(most: number, clock: Clock) {
    this.#clock = clock
    this.#all = new FairMap(most)
  }

  /** Of too many, the oldest of the owner with the most makes room. */
  add(login: PendingLogin, owner: string): void {
    this.#all.set(login.state, { login, untilMs: this.#clock.nowMs() + LIFE_MS }, owner)
  }

  has(state: string): boolean {
    return this.#all.has(state)
  }

  take(state: string): PendingLogin | undefined {
    const found = this.#all.get(state)
    this.#all.delete(state)
    return found !== undefined && found.untilMs > this.#clock.nowMs() ? found.login : undefined
  }
}
