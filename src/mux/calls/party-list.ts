import { type Client, isOnePerson } from '../../model/links.js'
import { newClientId } from '../../model/peer.js'

/**
 * Returns the owner of a call. Each request of a client with several possible users is a party of its own.
 */
export const partyOf = (client: Client): number => (isOnePerson(client) ? client.id : newClientId())

interface Owned {
  readonly party: number
}

/** The place of an item in its list. */
export interface Place<T> {
  readonly item: T
  before: Place<T> | undefined
  after: Place<T> | undefined
  isIn: boolean
}

/**
 * Keeps items of parties in order, and knows whether one party owns them all. Each item is removed by its
 * place: items come and go with each message, where a `Set` costs as much as a `Map` (see `HashTable`).
 */
export class PartyList<T extends Owned> implements Iterable<T> {
  size = 0
  #first: Place<T> | undefined
  #last: Place<T> | undefined
  /** Number of items that follow one of another party; zero if all belong to one. */
  #changes = 0

  get first(): T | undefined {
    return this.#first?.item
  }

  get latest(): T | undefined {
    return this.#last?.item
  }

  /** The party of all items; undefined if there are none. */
  get party(): number | 'several' | undefined {
    return this.#changes === 0 ? this.#last?.item.party : 'several'
  }

  add(item: T): Place<T> {
    const before = this.#last
    const place: Place<T> = { item, before, after: undefined, isIn: true }
    if (before === undefined) this.#first = place
    else before.after = place
    this.#last = place
    this.size += 1
    this.#changes += changeAt(before, place)
    return place
  }

  /** Removes an item; does nothing and returns false if it was removed before. */
  remove(place: Place<T>): boolean {
    if (!place.isIn) return false
    const { before, after } = place
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    this.#changes += changeAt(before, after) - changeAt(before, place) - changeAt(place, after)
    this.size -= 1
    place.isIn = false
    // A removed place must not retain its successors.
    place.before = undefined
    place.after = undefined
    return true
  }

  /** Iterates over a copy, so that items may be removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const items: T[] = []
    for (let place = this.#first; place !== undefined; place = place.after) items.push(place.item)
    return items.values()
  }
}

const changeAt = (one: Place<Owned> | undefined, next: Place<Owned> | undefined): number =>
  one !== undefined && next !== undefined && one.item.party !== next.item.party ? 1 : 0
