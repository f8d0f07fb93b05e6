import type { JsonText } from '../kernel/json/text.js'
import { idKey, type Message } from '../wire/jsonrpc.js'

/** A request that is not answered. */
interface Asked {
  readonly id: JsonText
  /** The line that it came in; undefined if it was part of a batch, or there was no room to keep it. */
  readonly line: Buffer | undefined
  mayRepeat: boolean
  /** Whether it is a subscription that a daemon has acknowledged. */
  isAcknowledged: boolean
}

/** What may be asked twice: it reads, or comes to the same. */
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
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
  'subscriptions/listen',
])

/** How much of requests is kept so that they can be sent again. */
const KEPT_BYTES = 4 * 1024 * 1024

/** The requests of the client that are under way, in the order in which they were made. */
export class UnderWay {
  readonly #asked = new Map<string, Asked>()
  #keptBytes = 0

  /** Notes a request; `line` is undefined for one of a batch. */
  add({ id, method }: Message & { kind: 'request' }, line: Buffer | undefined): void {
    this.take(id)
    const kept = (line?.length ?? 0) + this.#keptBytes <= KEPT_BYTES ? line : undefined
    this.#keptBytes += kept?.length ?? 0
    this.#asked.set(idKey(id), { id, line: kept, mayRepeat: REPEATABLE.has(method), isAcknowledged: false })
  }

  /** Takes out a request that was answered or called off; false if there is none with this id. */
  take(id: JsonText): boolean {
    const key = idKey(id)
    this.#keptBytes -= this.#asked.get(key)?.line?.length ?? 0
    return this.#asked.delete(key)
  }

  /** Notes that a subscription is acknowledged; false if it was before, by another daemon. */
  acknowledged(id: JsonText): boolean {
    const asked = this.#asked.get(idKey(id))
    if (asked === undefined) return true
    const wasBefore = asked.isAcknowledged
    asked.isAcknowledged = true
    return !wasBefore
  }

  /** Notes that a request was not begun; false if it cannot be sent again. */
  refused(id: JsonText): boolean {
    const asked = this.#asked.get(idKey(id))
    if (asked?.line === undefined) return false
    asked.mayRepeat = true
    return true
  }

  /** Notes that nothing of this was begun. */
  refusedAll(): void {
    for (const asked of this.#asked.values()) asked.mayRepeat = true
  }

  /** The lines of all that may be sent again. */
  get repeatable(): readonly Buffer[] {
    return [...this.#asked.values()].flatMap(({ line, mayRepeat }) => (mayRepeat ? (line ?? []) : []))
  }

  /** Takes out what cannot be sent again, or everything. */
  drop(what: 'lost' | 'all'): readonly JsonText[] {
    const ids = [...this.#asked.values()].flatMap(({ id, line, mayRepeat }) =>
      what === 'lost' && mayRepeat && line !== undefined ? [] : [id],
    )
    for (const id of ids) this.take(id)
    return ids
  }
}
