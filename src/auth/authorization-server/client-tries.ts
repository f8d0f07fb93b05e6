import type { Clock } from '../../kernel/async/clock.js'
import { addressGroup, PerMinute } from '../per-minute.js'

/** How often a client may fail within a minute, compared with one network of it. */
const ALL_NETWORKS = 10
const PAUSE_MS = 1000
const MOST_PAUSES = 1000
/** Kept of a name. */
const NAME_LENGTH = 256

/**
 * Slows down those who guess the secret of a client (RFC 6749 §2.3.1): after too many failures one try a
 * second
 * is looked at. No client is ever locked out.
 */
export class ClientTries {
  readonly #clock: Clock
  readonly #most: number
  readonly #ofNetwork: PerMinute
  readonly #ofClient: PerMinute
  /** When a try was last looked at, by client. */
  readonly #lastMs = new Map<string, number>()

  /** `most` failures within a minute are allowed for each network of a client. */
  constructor(clock: Clock, most: number) {
    this.#clock = clock
    this.#most = most
    this.#ofNetwork = new PerMinute(clock)
    this.#ofClient = new PerMinute(clock)
  }

  failed(name: string, address: string): void {
    const client = name.slice(0, NAME_LENGTH)
    this.#ofNetwork.add(keyOf(client, address))
    this.#ofClient.add(client)
  }

  /** Whether one more try is looked at now. */
  admits(name: string, address: string): boolean {
    const client = name.slice(0, NAME_LENGTH)
    const isSlow =
      this.#ofNetwork.count(keyOf(client, address)) >= this.#most ||
      this.#ofClient.count(client) >= this.#most * ALL_NETWORKS
    if (!isSlow) return true
    const nowMs = this.#clock.nowMs()
    if (nowMs - (this.#lastMs.get(client) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS) return false
    this.#lastMs.delete(client)
    this.#lastMs.set(client, nowMs)
    const [oldest] = this.#lastMs.keys()
    if (oldest !== undefined && this.#lastMs.size > MOST_PAUSES) this.#lastMs.delete(oldest)
    return true
  }
}

const keyOf = (client: string, address: string): string => `${addressGroup(address)} ${client}`
