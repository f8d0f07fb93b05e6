import type { JsonText } from '../kernel/json/text.js'
import { idKey, type Message } from '../wire/jsonrpc.js'

/** An unanswered request. */
interface Asked {
  readonly id: JsonText
  /** Undefined if the request was part of a batch, or its line too large to keep. */
  readonly line: Buffer | undefined
  mayRepeat: boolean
  /** True after a daemon acknowledged the subscription. */
  isAcknowledged: boolean
}

/** Methods that are safe to repeat. */
const REPEATABLE = new Set([
  'initialize',
  'ping',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'server/discover',
  'completion/complete',
  'prompts/get',
  'resources/read',
  'resources/directory/read',
  'skills/list',
  'skills/get',
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
  'subscriptions/listen',
])

/** Maximum total size of lines kept for repetition. */
const KEPT_BYTES = 4 * 1024 * 1024

/** The client's requests in flight, in order. */
export class InFlight {
  readonly #asked = new Map<string, Asked>()
  #keptBytes = 0

  /** Adds a request; `line` is undefined in a batch. */
  add({ id, method }: Message & { kind: 'request' }, line: Buffer | undefined): void {
    this.take(id)
    const kept = (line?.length ?? 0) + this.#keptBytes <= KEPT_BYTES ? line : undefined
    this.#keptBytes += kept?.length ?? 0
    this.#asked.set(idKey(id), { id, line: kept, mayRepeat: REPEATABLE.has(method), isAcknowledged: false })
  }

  /** Removes an answered or cancelled request; returns false if the id is unknown. */
  take(id: JsonText): boolean {
    const key = idKey(id)
    this.#keptBytes -= this.#asked.get(key)?.line?.length ?? 0
    return this.#asked.delete(key)
  }

  /** Marks a subscription as acknowledged; returns false if an earlier daemon had done so. */
  acknowledged(id: JsonText): boolean {
    const asked = this.#asked.get(idKey(id))
    if (asked === undefined) return true
    const wasBefore = asked.isAcknowledged
    asked.isAcknowledged = true
    return !wasBefore
  }

  /** Marks a request as not started; returns false if it cannot be repeated. */
  refused(id: JsonText): boolean {
    const asked = this.#asked.get(idKey(id))
    if (asked?.line === undefined) return false
    asked.mayRepeat = true
    return true
  }

  /** Marks all requests as not started. */
  refusedAll(): void {
    for (const asked of this.#asked.values()) asked.mayRepeat = true
  }

  /** Lines of all requests that can be repeated. */
  get repeatable(): readonly Buffer[] {
    return [...this.#asked.values()].flatMap(({ line, mayRepeat }) => (mayRepeat ? (line ?? []) : []))
  }

  /** Removes the requests that cannot be repeated, or all. */
  drop(what: 'lost' | 'all'): readonly JsonText[] {
    const ids = [...this.#asked.values()].flatMap(({ id, line, mayRepeat }) =>
      what === 'lost' && mayRepeat && line !== undefined ? [] : [id],
    )
    for (const id of ids) this.take(id)
    return ids
  }
}
