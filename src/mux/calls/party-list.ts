import { LinkedList, type ListLink } from '../../kernel/linked-list.js'
import { type Client, isOnePerson } from '../../model/links.js'
import { newClientId } from '../../model/peer.js'

/**
 * Returns the owner of a call. Each request of a client with several possible users is a party of its own.
 */
export const partyOf = (client: Client): number => (isOnePerson(client) ? client.id : newClientId())

interface Owned {
  readonly party: number
}

/** Keeps items of parties in order, and knows whether one party owns them all. */
export class PartyList<T extends Owned> implements Iterable<T> {
  readonly #items = new LinkedList<T>()
  /** Number of items that follow one of another party; zero if all belong to one. */
  #changes = 0

  get size(): number {
    return this.#items.size
  }

  get first(): T | undefined {
    return this.#items.first
  }

  get latest(): T | undefined {
    return this.#items.last
  }

  /** The party of all items; undefined if there are none. */
  get party(): number | 'several' | undefined {
    return this.#changes === 0 ? this.#items.last?.party : 'several'
  }

  add(item: T): ListLink<T> {
    const link = this.#items.add(item)
    this.#changes += changeAt(link.before, link)
    return link
  }

  /** Removes an item; returns false if it was removed before. */
  remove(link: ListLink<T>): boolean {
    if (!link.isIn) return false
    const { before, after } = link
    this.#changes += changeAt(before, after) - changeAt(before, link) - changeAt(link, after)
    return this.#items.remove(link)
  }

  /** Iterates over a copy, so that items may be removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]()
  }
}

const changeAt = (one: ListLink<Owned> | undefined, next: ListLink<Owned> | undefined): number =>
  one !== undefined && next !== undefined && one.item.party !== next.item.party ? 1 : 0
