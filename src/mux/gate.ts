import type { Clock } from '../kernel/clock.js'
import { Deferred } from '../kernel/deferred.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json-text.js'
import type { Call, Client, Reception, Welcome } from '../model/links.js'
import { failed } from '../model/outcome.js'

/** A request that is meant to stay open: nobody waits for its end (2026-07-28, basic/patterns/subscriptions). */
const ENDLESS = 'subscriptions/listen'

/**
 * Stands in front of a reception and counts the calls that are under way. Once it is shut no further call gets in, and whoever
 * wants to go can wait for those inside; their questions and answers pass all the same.
 */
export class Gate implements Reception {
  readonly #behind: Reception
  readonly #clock: Clock
  #isShut = false
  #inside = 0
  readonly #isEmpty = new Deferred<void>()

  constructor(behind: Reception, clock: Clock) {
    this.#behind = behind
    this.#clock = clock
  }

  get isShut(): boolean {
    return this.#isShut
  }

  /** Calls under way. */
  get inside(): number {
    return this.#inside
  }

  /** Lets no call in from now on; resolves with the number of those that were not over within `limitMs`. */
  async shut(limitMs: number): Promise<number> {
    this.#isShut = true
    if (this.#inside === 0) return 0
    const limit = this.#clock.after(limitMs, () => this.#isEmpty.resolve())
    await this.#isEmpty.promise
    limit.cancel()
    return this.#inside
  }

  call(call: Call): void {
    if (this.#isShut) {
      call.end(failed(new Fault('unavailable', 'The proxy is shutting down')))
      return
    }
    if (call.method !== ENDLESS) {
      this.#inside += 1
      call.onOver = this.#over
    }
    this.#behind.call(call)
  }

  welcome(client: Client): Promise<Welcome> {
    return this.#behind.welcome(client)
  }

  toolSchema(exposed: string): JsonText | undefined {
    return this.#behind.toolSchema(exposed)
  }

  notice(client: Client, method: string, params: JsonText | undefined): void {
    this.#behind.notice(client, method, params)
  }

  rests(client: Client): void {
    this.#behind.rests(client)
  }

  left(client: Client): void {
    this.#behind.left(client)
  }

  readonly #over = (): void => {
    this.#inside -= 1
    if (this.#isShut && this.#inside === 0) this.#isEmpty.resolve()
  }
}
