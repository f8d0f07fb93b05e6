import type { Clock, Timer } from '../kernel/clock.js'
import type { ListName } from '../model/listing.js'
import { CHANGE_NOTICES } from './routes.js'

/** Changes that come together are one notification. */
const MERGE_MS = 50
/** And so are those that come after one that was told, for so long. */
const APART_MS = 1000

/** A change of a merged list. */
export interface Change {
  readonly list: ListName
  /** Counts how often the list has become another one. */
  readonly version: number
  /** All that came into it was the first that is known of a server. */
  readonly isFirst: boolean
}

/** Someone who may be told that merged lists changed: a session, or a request that listens. */
export interface Audience {
  /** Whether it would see another list than the one it knows. */
  isNews(change: Change): boolean
  tell(method: string, params: undefined): void
}

interface Due {
  /** The lists that changed, and whether each change was a first one. */
  readonly lists: Map<ListName, boolean>
  readonly timer: Timer
}

/**
 * Tells clients that merged lists changed: once for changes that come together, once a second while they go on, and only those to whom
 * it is news.
 */
export class ChangeNotices {
  readonly #clock: Clock
  readonly #audiences: () => Iterable<Audience>
  readonly #due = new Map<string, Due>()
  /** When each notification was told last. */
  readonly #toldMs = new Map<string, number>()

  constructor(clock: Clock, audiences: () => Iterable<Audience>) {
    this.#clock = clock
    this.#audiences = audiences
  }

  /** A merged list is another one now, `isFirst` as in the catalogue; `versionOf` counts how often each was. */
  changed(list: ListName, isFirst: boolean, versionOf: (list: ListName) => number): void {
    const notice = CHANGE_NOTICES[list]
    const due = this.#due.get(notice)
    if (due !== undefined) {
      due.lists.set(list, isFirst && due.lists.get(list) !== false)
      return
    }
    const lists = new Map([[list, isFirst]])
    const restMs = (this.#toldMs.get(notice) ?? Number.NEGATIVE_INFINITY) + APART_MS - this.#clock.nowMs()
    const timer = this.#clock.after(Math.max(MERGE_MS, restMs), () => {
      this.#due.delete(notice)
      const changes = [...lists].map(([one, first]) => ({
        list: one,
        version: versionOf(one),
        isFirst: first,
      }))
      const told = [...this.#audiences()].filter(audience => changes.some(change => audience.isNews(change)))
      if (told.length > 0) this.#toldMs.set(notice, this.#clock.nowMs())
      for (const audience of told) audience.tell(notice, undefined)
    })
    this.#due.set(notice, { lists, timer })
  }

  close(): void {
    for (const { timer } of this.#due.values()) timer.cancel()
    this.#due.clear()
  }
}
