import type { PendingSignIn } from '../../../auth/sign-in/identity-provider.js'
import type { Clock } from '../../../kernel/async/clock.js'

/** A sign-in at the identity provider, and the sign-in of ours that it is for. */
export interface PendingLogin extends PendingSignIn {
  readonly flow: string
}

const LIFE_MS = 10 * 60_000

/** People who are at the identity provider: each comes back once, within ten minutes (AU-58). */
export class PendingLogins {
  readonly #clock: Clock
  readonly #most: number
  readonly #all = new Map<string, { readonly login: PendingLogin; readonly untilMs: number }>()

  constructor(most: number, clock: Clock) {
    this.#most = most
    this.#clock = clock
  }

  add(login: PendingLogin): void {
    const [oldest] = this.#all.keys()
    if (oldest !== undefined && this.#all.size >= this.#most) this.#all.delete(oldest)
    this.#all.set(login.state, { login, untilMs: this.#clock.nowMs() + LIFE_MS })
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
