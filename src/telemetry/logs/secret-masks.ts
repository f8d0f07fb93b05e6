import { secretsOf } from '../../config/read/secrets.js'
import type { ProxyConfig } from '../../config/types.js'
import { addSecrets } from '../../kernel/secrets/mask.js'

/** Number of configurations with masked secrets: servers of earlier ones may still run. */
const MASKED_CONFIGS = 8

/** Masks the secrets of the latest configurations in all output of the process. */
export class SecretMasks {
  /** Functions that end the masking of one configuration's secrets. */
  readonly #unmasks: (() => void)[] = []

  add(config: ProxyConfig): void {
    this.#unmasks.push(addSecrets(secretsOf(config)))
    if (this.#unmasks.length > MASKED_CONFIGS) this.#unmasks.shift()?.()
  }

  close(): void {
    for (const unmask of this.#unmasks.splice(0)) unmask()
  }
}
