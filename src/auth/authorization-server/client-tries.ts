import type { Clock } from '../../kernel/async/clock.js'
import { addressGroup, PerMinute } from '../per-minute.js'

/** Failures allowed per minute for a client, as a multiple of those for one network. */
const ALL_NETWORKS = 10
const PAUSE_MS = 1000
const MOST_PAUSES = 1000
/** Maximum stored length of a name. */
const NAME_LENGTH = 256

/**
 * Slows down guesses of a client's secret (RFC 6749 §2.3.1): after too many failures, one attempt per second
 * is processed. Clients are never locked out.
 */
export class ClientTries {
  readonly #clock: Clock
  readonly #most: number
  readonly #ofNetwork: PerMinute
  readonly #ofClient: PerMinute
  /** Time of the last processed attempt, by client. */
  readonly #lastMs = new Map<string, number>()

  /** Allows `most` failures per minute for each network of a client. */
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

  /** Reports whether another attempt may be processed now. */
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
