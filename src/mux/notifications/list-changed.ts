import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { ListName } from '../../model/listing.js'
import { LIST_CHANGED } from '../routes.js'

/** Changes that come together are one notification. */
const MERGE_MS = 50
/** And for each client those that come after one that it was told, for so long. */
const APART_MS = 1000

/** A change of what some clients see. */
export interface Change {
  readonly list: ListName
  /** All that came into it was the first that is known of a list of a server. */
  readonly isFirst: boolean
}

/** Someone who may be told that merged lists changed: a session, or a request that listens. */
export interface Audience {
  /** Whether it would see another list than the one it knows. */
  isNews(change: Change): boolean
  /** It was told, or need not be: from now on it knows the list as it stands. */
  knows(list: ListName): void
  notify(method: string, params: undefined): void
}

interface Due {
  /** The lists that changed, and whether each change was a first one. */
  readonly lists: Map<ListName, boolean>
  timer: Timer
  atMs: number
}

/**
 * Tells clients that merged lists changed: once for changes that come together, once a second while they go on, and only those to whom
 * it is news.
 */
export class ListChanged {
  readonly #clock: Clock
  readonly #audiences: () => Iterable<Audience>
  readonly #due = new Map<string, Due>()
  /** By notification, when each audience was told it last. */
  readonly #toldMs = new Map<string, WeakMap<Audience, number>>()

  constructor(clock: Clock, audiences: () => Iterable<Audience>) {
    this.#clock = clock
    this.#audiences = audiences
  }

  /** Some clients see another list now, `isFirst` as in the catalogue. */
  changed(list: ListName, isFirst: boolean): void {
    this.#await(LIST_CHANGED[list], new Map([[list, isFirst]]), MERGE_MS)
  }

  close(): void {
    for (const { timer } of this.#due.values()) timer.cancel()
    this.#due.clear()
  }

  #await(notice: string, lists: ReadonlyMap<ListName, boolean>, ms: number): void {
    const due = this.#due.get(notice)
    const atMs = Math.min(this.#clock.nowMs() + ms, due?.atMs ?? Number.POSITIVE_INFINITY)
    const all = due?.lists ?? new Map<ListName, boolean>()
    for (const [list, isFirst] of lists) all.set(list, isFirst && all.get(list) !== false)
    if (due?.atMs === atMs) return
    due?.timer.cancel()
    const timer = this.#clock.after(ms, () => this.#flush(notice, all))
    this.#due.set(notice, { lists: all, timer, atMs })
  }

  #flush(notice: string, lists: ReadonlyMap<ListName, boolean>): void {
    this.#due.delete(notice)
    const nowMs = this.#clock.nowMs()
    const toldMs = this.#toldMs.get(notice) ?? new WeakMap<Audience, number>()
    this.#toldMs.set(notice, toldMs)
    let restMs = Number.POSITIVE_INFINITY
    for (const audience of [...this.#audiences()]) {
      const isNews = [...lists].some(([list, isFirst]) => audience.isNews({ list, isFirst }))
      const waitMs = (toldMs.get(audience) ?? Number.NEGATIVE_INFINITY) + APART_MS - nowMs
      if (isNews && waitMs > 0) {
        restMs = Math.min(restMs, waitMs)
        continue
      }
      for (const list of lists.keys()) audience.knows(list)
      if (!isNews) continue
      toldMs.set(audience, nowMs)
      audience.notify(notice, undefined)
    }
    if (restMs < Number.POSITIVE_INFINITY) this.#await(notice, lists, restMs)
  }
}
