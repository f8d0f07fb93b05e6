/** The slots of an empty table; all sizes are powers of two. */
const MIN_SLOTS = 16
/** A table with this many times more slots than entries shrinks. */
const SPARSE = 64
/** Only this many characters, at the end of a long text, are hashed. */
const HASHED_CHARS = 64

interface Entry<K, V> {
  readonly key: K
  value: V
  /** The order of insertion. */
  readonly turn: number
}

type Slots<K, V> = (Entry<K, V> | undefined)[]

const blank = <K, V>(slots: number): Slots<K, V> => new Array<undefined>(slots).fill(undefined)

/**
 * Maps numbers or texts to entries that come and go with each message. A `Map` rehashes every few deletions
 * and never clears its old table, which, once promoted, keeps all its entries until the next full collection
 * (V8, src/objects/ordered-hash-table.cc, `Rehash`). This table is updated in place, with open addressing and
 * linear probing.
 */
export class HashTable<K extends number | string, V> {
  #slots = blank<K, V>(MIN_SLOTS)
  /** The number of entries. */
  size = 0
  #turns = 0

  has(key: K): boolean {
    return this.#slots[this.#slotOf(key)] !== undefined
  }

  get(key: K): V | undefined {
    return this.#slots[this.#slotOf(key)]?.value
  }

  set(key: K, value: V): void {
    const slot = this.#slotOf(key)
    const entry = this.#slots[slot]
    if (entry !== undefined) {
      entry.value = value
      return
    }
    this.#turns += 1
    this.#slots[slot] = { key, value, turn: this.#turns }
    this.size += 1
    if (2 * this.size > this.#slots.length) this.#resize(2 * this.#slots.length)
  }

  /** Removes an entry and returns its value, if it was there. */
  take(key: K): V | undefined {
    const slot = this.#slotOf(key)
    const entry = this.#slots[slot]
    if (entry === undefined) return undefined
    this.#free(slot)
    this.size -= 1
    const { length } = this.#slots
    if (length > MIN_SLOTS && this.size * SPARSE < length) this.#resize(length / 2)
    return entry.value
  }

  /** Copies the values in order of insertion, so that entries may be removed during iteration. */
  values(): V[] {
    if (this.size === 0) return []
    const entries = this.#slots.filter(entry => entry !== undefined)
    return entries.sort((a, b) => a.turn - b.turn).map(({ value }) => value)
  }

  clear(): void {
    this.#slots = blank(MIN_SLOTS)
    this.size = 0
  }

  #slotOf(key: K): number {
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = hashOf(key) & mask
    for (let other = slots[slot]; other !== undefined && other.key !== key; other = slots[slot]) {
      slot = (slot + 1) & mask
    }
    return slot
  }

  /** Empties a slot, and moves up entries that a lookup would no longer reach. */
  #free(slot: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let hole = slot
    for (let next = (slot + 1) & mask; ; next = (next + 1) & mask) {
      const entry = slots[next]
      if (entry === undefined) break
      const isAtHome = ((next - hashOf(entry.key)) & mask) < ((next - hole) & mask)
      if (isAtHome) continue
      slots[hole] = entry
      hole = next
    }
    slots[hole] = undefined
  }

  #resize(length: number): void {
    const slots = this.#slots
    this.#slots = blank(length)
    for (const entry of slots) if (entry !== undefined) this.#slots[this.#slotOf(entry.key)] = entry
    // The old table must not retain its entries; see above.
    slots.fill(undefined)
  }
}

/** Hashes a key: consecutive numbers never collide; texts use FNV-1a. */
const hashOf = (key: number | string): number => {
  if (typeof key === 'number') return key | 0
  let hash = 0x811c9dc5
  for (let i = Math.max(0, key.length - HASHED_CHARS); i < key.length; i++)
    hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return hash
}
