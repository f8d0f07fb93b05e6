import type { Logger } from '../kernel/logger.js'

/** A credential that was refused, and where. Its parts may be shown to the operator; it holds no secret. */
export interface RefusedCredential {
  readonly address: string
  readonly path: string
  /** In general words. */
  readonly why: string
  /** The client that it was used for. */
  readonly client?: string | undefined
  /** The server that the user wanted to sign in at. */
  readonly server?: string | undefined
}

/** Logs and counts refused credentials, wherever they are used: at the gate, on a page, or at `/token`. */
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
