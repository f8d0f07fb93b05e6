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
  readonly lists: Set<ListName>
  readonly timer: Timer
}

/** Tells clients that merged lists changed: those who could see it, and who have not seen it already. */
export class ChangeNotices {
  readonly #clock: Clock
  readonly #guests: ReadonlyMap<Client, Guest>
  readonly #due = new Map<string, Due>()

  constructor(clock: Clock, guests: ReadonlyMap<Client, Guest>) {
    this.#clock = clock
    this.#guests = guests
  }

  /** A merged list is another one now; `versionOf` counts how often each was. */
  changed(list: ListName, versionOf: (list: ListName) => number): void {
    const notice = CHANGE_NOTICES[list]
    const due = this.#due.get(notice)
    if (due !== undefined) {
      due.lists.add(list)
      return
    }
    const lists = new Set([list])
    const timer = this.#clock.after(MERGE_MS, () => {
      this.#due.delete(notice)
      for (const [client, { announced, seen }] of this.#guests) {
        const isNews = [...lists].some(one => seen.get(one) !== versionOf(one))
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
