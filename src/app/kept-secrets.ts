import { secretsOf } from '../config/read/secrets.js'
import type { ProxyConfig } from '../config/types.js'
import { addSecrets } from '../kernel/mask.js'

/** Servers of earlier configurations may still run, and say what they were given. */
const KEPT = 8

/** Has the secrets of a proxy's configurations masked, of the last ones that it had. */
export class KeptSecrets {
  readonly #releases: (() => void)[] = []

  keep(config: ProxyConfig): void {
    this.#releases.push(addSecrets(secretsOf(config)))
    if (this.#releases.length > KEPT) this.#releases.shift()?.()
  }

  close(): void {
    for (const release of this.#releases.splice(0)) release()
  }
}
