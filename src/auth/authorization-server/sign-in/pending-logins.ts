import type { Clock } from '../../../kernel/async/clock.js'
import { FairMap } from '../../../kernel/fair-share.js'
import type { PendingSignIn } from './identity-provider.js'

/** A sign-in at the identity provider, and the id of the local sign-in that waits for it. */
export interface PendingUserLogin extends PendingSignIn {
  readonly flow: string
}

const LIFE_MS = 10 * 60_000

/** Sign-ins in progress at the identity provider; each can return once within ten minutes. */
export class PendingLogins {
  readonly #clock: Clock
  readonly #all: FairMap<{ readonly login: PendingUserLogin; readonly untilMs: number }>

  constructor(most: number, clock: Clock) {
    this.#clock = clock
    this.#all = new FairMap(most)
  }

  /** Above the limit, drops the oldest of the owner with the most. */
  add(login: PendingUserLogin, owner: string): void {
    this.#all.set(login.state, { login, untilMs: this.#clock.nowMs() + LIFE_MS }, owner)
  }

  has(state: string): boolean {
    return this.#all.has(state)
  }

  take(state: string): PendingUserLogin | undefined {
    const found = this.#all.get(state)
    this.#all.delete(state)
    return found !== undefined && found.untilMs > this.#clock.nowMs() ? found.login : undefined
  }
}
