export interface ListLink<T> {
  readonly item: T
  before: ListLink<T> | undefined
  after: ListLink<T> | undefined
  isIn: boolean
}

/**
 * Keeps items in insertion order; each is removed by its link. For items that come and go with each message,
 * where a `Set` costs as much as a `Map` (see `HashTable`).
 */
export class LinkedList<T> implements Iterable<T> {
  #first: ListLink<T> | undefined
  #last: ListLink<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get first(): T | undefined {
    return this.#first?.item
  }

  get last(): T | undefined {
    return this.#last?.item
  }

  add(item: T): ListLink<T> {
    const before = this.#last
    const link: ListLink<T> = { item, before, after: undefined, isIn: true }
    if (before === undefined) this.#first = link
    else before.after = link
    this.#last = link
    this.#size += 1
    return link
  }

  /** Returns false if it was removed before. */
  remove(link: ListLink<T>): boolean {
    if (!link.isIn) return false
    const { before, after } = link
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    link.isIn = false
    // A removed link must not retain its successors.
    link.before = undefined
    link.after = undefined
    this.#size -= 1
    return true
  }

  /** Iterates over a copy, so that items may be removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const items: T[] = []
    for (let link = this.#first; link !== undefined; link = link.after) items.push(link.item)
    return items.values()
  }
}
