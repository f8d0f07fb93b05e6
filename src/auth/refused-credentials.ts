import type { Logger } from '../kernel/logger.js'

/** A refused credential. Contains no secrets; may be shown to the operator. */
export interface RefusedCredential {
  readonly address: string
  readonly path: string
  /** A generic reason. */
  readonly why: string
  /** The client that used it. */
  readonly client?: string | undefined
  /** The server of the intended sign-in. */
  readonly server?: string | undefined
}

/** Logs and counts refused credentials of all endpoints: the gate, pages, and `/token`. */
export class RefusedCredentials {
  readonly #log: Logger
  readonly #onRefused: ((refused: RefusedCredential) => void) | undefined
  #count = 0

  constructor(log: Logger, onRefused?: (refused: RefusedCredential) => void) {
    this.#log = log
    this.#onRefused = onRefused
  }

  get count(): number {
    return this.#count
  }

  report(refused: RefusedCredential): void {
    this.#count += 1
    this.#log.warn({ ...refused }, 'refused a credential')
    this.#onRefused?.(refused)
  }
}
