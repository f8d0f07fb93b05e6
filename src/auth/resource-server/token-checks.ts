import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Asks, TokenVerdict, TokenVerifier, VerifiedToken } from './tokens.js'

/** Maximum number of cached valid and invalid tokens. */
const MOST_GOOD = 10_000
const MOST_BAD = 1000
const KEEP_BAD_MS = 10_000

interface CheckedFor {
  /** Address of the client. */
  readonly address?: string
  readonly asks?: Asks
}

interface Kept<T> {
  readonly value: T
  readonly untilMs: number
  /** The token itself, to check a valid one again. */
  readonly text?: string
}

/** Checks tokens of issuers, and caches the results for a while; concurrent requests share one check. */
export class TokenChecks {
  readonly #verifier: TokenVerifier
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly #good = new Map<string, Kept<VerifiedToken>>()
  readonly #bad = new Map<string, Kept<TokenVerdict>>()
  readonly #running = new Map<string, Promise<TokenVerdict>>()
  /** Requests to issuers in flight, in total and by client address. */
  #asked = 0
  readonly #askedFor = new Map<string, number>()

  constructor(verifier: TokenVerifier, clock: Clock, bounds: LimitCounters) {
    this.#verifier = verifier
    this.#clock = clock
    this.#bounds = bounds
  }

  /** Returns the cached result for a token, if still valid. */
  recall(sha256: string): VerifiedToken | undefined {
    return this.#keptIn(this.#good, sha256)
  }

  /**
   * Returns the content of an earlier token; undefined if it is not known any more. An outdated result is
   * checked again in the background, and stays in use until then, or while its issuer cannot be reached.
   */
  renew(sha256: string): VerifiedToken | undefined {
    const kept = this.#good.get(sha256)
    if (kept?.text !== undefined && kept.untilMs <= this.#clock.nowMs()) void this.check(kept.text, sha256)
    return kept?.value
  }

  /**
   * Checks a token with cached keys, or with a request to its issuer. Each address may use a quarter of the
   * allowed concurrent requests. Never rejects.
   */
  async check(token: string, sha256: string, from: CheckedFor = {}): Promise<TokenVerdict> {
    const bad = this.#keptIn(this.#bad, sha256)
    if (bad !== undefined) return bad
    const known = this.#running.get(sha256)
    const running = known ?? this.#verify(token, from).finally(() => this.#running.delete(sha256))
    if (known === undefined) this.#running.set(sha256, running)
    const verdict = await running
    this.#keep(verdict, sha256, token)
    return verdict
  }

  async #verify(token: string, { address = '', asks = 'anything' }: CheckedFor): Promise<TokenVerdict> {
    const verdict = await this.#verifier.verify(token, 'nothing')
    if (verdict.is !== 'unasked') return verdict
    const ofAddress = this.#askedFor.get(address) ?? 0
    const share = Math.ceil(this.#bounds.max.tokenChecks / 4)
    if (this.#bounds.isOver('tokenChecks', this.#asked + 1) || ofAddress >= share)
      return { is: 'unavailable' }
    this.#asked += 1
    this.#askedFor.set(address, ofAddress + 1)
    return await this.#verifier.verify(token, asks).finally(() => {
      this.#asked -= 1
      const left = (this.#askedFor.get(address) ?? 1) - 1
      if (left > 0) this.#askedFor.set(address, left)
      else this.#askedFor.delete(address)
    })
  }

  #keep(verdict: TokenVerdict, sha256: string, text: string): void {
    const nowMs = this.#clock.nowMs()
    if (verdict.is === 'good') {
      const { token, keepMs } = verdict
      put(this.#good, sha256, { value: token, untilMs: nowMs + keepMs, text }, MOST_GOOD)
    } else if (verdict.is === 'invalid') {
      this.#good.delete(sha256)
      put(this.#bad, sha256, { value: verdict, untilMs: nowMs + KEEP_BAD_MS }, MOST_BAD)
    }
  }

  #keptIn<T>(map: Map<string, Kept<T>>, sha256: string): T | undefined {
    const kept = map.get(sha256)
    return kept !== undefined && kept.untilMs > this.#clock.nowMs() ? kept.value : undefined
  }
}

/** Adds an entry; drops the oldest ones above `most`. */
const put = <T>(map: Map<string, T>, key: string, value: T, most: number): void => {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= most) return
    map.delete(oldest)
  }
}
