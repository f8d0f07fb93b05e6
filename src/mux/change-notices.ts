import { LISTS } from '../catalog/walk.js'
import type { Clock, Timer } from '../kernel/clock.js'
import type { Client, Welcome } from '../model/links.js'
import type { ListName } from '../model/listing.js'
import { CHANGE_NOTICES } from './routes.js'

/** Changes that come together are one notification. */
const MERGE_MS = 50

/** What we remember of a client. */
export interface Guest {
  /** What it was told that we can do; undefined until then. Never changed: no revision can take it back. */
  announced: Welcome['capabilities'] | undefined
  /** The version of each merged list of which it was last given the first page. */
  readonly seen: Map<ListName, number>
}

interface Due {
  /** The lists that changed, and whether all that came into each was the first that is known of a server. */
  readonly lists: Map<ListName, boolean>
  readonly timer: Timer
}

/**
 * Tells clients that merged lists changed: those who could see it, and who have not seen it already. A server's first list
 * is no news to a client that was never given the merged one: there is nothing that it would have to read again.
 */
export class ChangeNotices {
  readonly #clock: Clock
  readonly #guests: ReadonlyMap<Client, Guest>
  readonly #due = new Map<string, Due>()

  constructor(clock: Clock, guests: ReadonlyMap<Client, Guest>) {
    this.#clock = clock
    this.#guests = guests
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
    const timer = this.#clock.after(MERGE_MS, () => {
      this.#due.delete(notice)
      for (const [client, { announced, seen }] of this.#guests) {
        const isNews = [...lists].some(([one, onlyFirst]) =>
          seen.has(one) ? seen.get(one) !== versionOf(one) : !onlyFirst,
        )
        if (isNews && announced?.[LISTS[list].capability]) client.tell(notice, undefined)
      }
    })
    this.#due.set(notice, { lists, timer })
  }

  close(): void {
    for (const { timer } of this.#due.values()) timer.cancel()
    this.#due.clear()
  }
}
