import type { Clock, Timer } from '../../kernel/async/clock.js'
import { LISTS, type ListName } from '../../model/listing.js'

/** Changes within this time are reported in one notification. */
const MERGE_MS = 50
/** Minimum time between two equal notifications to a client. */
const APART_MS = 1000

export interface Change {
  readonly list: ListName
  /** True if the change only added the first known list of a server. */
  readonly isFirst: boolean
}

/** A receiver of list_changed notifications: a session, or a subscription stream. */
export interface Audience {
  isNews(change: Change): boolean
  knows(list: ListName): void
  notify(method: string, params: undefined): void
}

interface Due {
  /** The changed lists; true if each change was a first one. */
  readonly lists: Map<ListName, boolean>
  timer: Timer
  atMs: number
}

/** Notifies clients of changed lists: once for simultaneous changes, at most once a second. */
export class ListChanged {
  readonly #clock: Clock
  readonly #audiences: () => Iterable<Audience>
  readonly #due = new Map<string, Due>()
  /** Time of each audience's last notification, by method. */
  readonly #notifiedMs = new Map<string, WeakMap<Audience, number>>()

  constructor(clock: Clock, audiences: () => Iterable<Audience>) {
    this.#clock = clock
    this.#audiences = audiences
  }

  changed(list: ListName, isFirst: boolean): void {
    this.#await(LISTS[list].changed, new Map([[list, isFirst]]), MERGE_MS)
  }

  close(): void {
    for (const { timer } of this.#due.values()) timer.cancel()
    this.#due.clear()
  }

  #await(method: string, lists: ReadonlyMap<ListName, boolean>, ms: number): void {
    const due = this.#due.get(method)
    const atMs = Math.min(this.#clock.nowMs() + ms, due?.atMs ?? Number.POSITIVE_INFINITY)
    const all = due?.lists ?? new Map<ListName, boolean>()
    for (const [list, isFirst] of lists) all.set(list, isFirst && all.get(list) !== false)
    if (due?.atMs === atMs) return
    due?.timer.cancel()
    const timer = this.#clock.after(ms, () => this.#flush(method, all))
    this.#due.set(method, { lists: all, timer, atMs })
  }

  #flush(method: string, lists: ReadonlyMap<ListName, boolean>): void {
    this.#due.delete(method)
    const nowMs = this.#clock.nowMs()
    const notifiedMs = this.#notifiedMs.get(method) ?? new WeakMap<Audience, number>()
    this.#notifiedMs.set(method, notifiedMs)
    let restMs = Number.POSITIVE_INFINITY
    for (const audience of [...this.#audiences()]) {
      const isNews = [...lists].some(([list, isFirst]) => audience.isNews({ list, isFirst }))
      const waitMs = (notifiedMs.get(audience) ?? Number.NEGATIVE_INFINITY) + APART_MS - nowMs
      if (isNews && waitMs > 0) {
        restMs = Math.min(restMs, waitMs)
        continue
      }
      for (const list of lists.keys()) audience.knows(list)
      if (!isNews) continue
      notifiedMs.set(audience, nowMs)
      audience.notify(method, undefined)
    }
    if (restMs < Number.POSITIVE_INFINITY) this.#await(method, lists, restMs)
  }
}
