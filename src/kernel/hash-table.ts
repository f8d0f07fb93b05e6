/** Slots of an empty table; a power of two, as are all sizes. */
const FEWEST = 16
/** A table with so many times more slots than entries becomes smaller. */
const SPARSE = 64
/** So much of a long text tells it from others. */
const HASHED_CHARS = 64

const blank = <T>(slots: number): (T | undefined)[] => new Array<T | undefined>(slots).fill(undefined)

/**
 * What stands under a number or a text, for entries that come and go with each message. A `Map` makes itself anew every few
 * deletions and never clears what it was before, so that all that was in it then stays until the next full collection, once the
 * collector has moved the table to the old generation; with it that is what nearly every message does, at a tenth of all our CPU
 * (V8, src/objects/ordered-hash-table.cc, `Rehash`). This one stays where it is. Open addressing, linear probing; in no order.
 */
export class HashTable<K extends number | string, V> {
  #keys = blank<K>(FEWEST)
  #values = blank<V>(FEWEST)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(key: K): boolean {
    return this.#keys[this.#slotOf(key)] !== undefined
  }

  get(key: K): V | undefined {
    return this.#values[this.#slotOf(key)]
  }

  set(key: K, value: V): void {
    const slot = this.#slotOf(key)
    this.#values[slot] = value
    if (this.#keys[slot] !== undefined) return
    this.#keys[slot] = key
    this.#size += 1
    if (2 * this.#size > this.#keys.length) this.#resize(2 * this.#keys.length)
  }

  /** What stood there. */
  take(key: K): V | undefined {
    const slot = this.#slotOf(key)
    if (this.#keys[slot] === undefined) return undefined
    const value = this.#values[slot]
    this.#free(slot)
    this.#size -= 1
    if (this.#keys.length > FEWEST && this.#size * SPARSE < this.#keys.length)
      this.#resize(this.#keys.length / 2)
    return value
  }

  /** A copy, so that entries may go while it is walked. */
  values(): V[] {
    return this.#values.filter(value => value !== undefined)
  }

  clear(): void {
    this.#keys = blank(FEWEST)
    this.#values = blank(FEWEST)
    this.#size = 0
  }

  /** Where a key stands, or would stand. */
  #slotOf(key: K): number {
    const keys = this.#keys
    const mask = keys.length - 1
    let slot = hashOf(key) & mask
    for (let other = keys[slot]; other !== undefined && other !== key; other = keys[slot]) {
      slot = (slot + 1) & mask
    }
    return slot
  }

  /** Empties a slot, and moves up whoever would not be found behind it. */
  #free(slot: number): void {
    const keys = this.#keys
    const values = this.#values
    const mask = keys.length - 1
    let hole = slot
    for (let next = (slot + 1) & mask; ; next = (next + 1) & mask) {
      const key = keys[next]
      if (key === undefined) break
      const isBehindHome = ((next - hashOf(key)) & mask) >= ((next - hole) & mask)
      if (!isBehindHome) continue
      keys[hole] = key
      values[hole] = values[next]
      hole = next
    }
    keys[hole] = undefined
    values[hole] = undefined
  }

  #resize(slots: number): void {
    const keys = this.#keys
    const values = this.#values
    this.#keys = blank(slots)
    this.#values = blank(slots)
    for (let slot = 0; slot < keys.length; slot++) {
      const key = keys[slot]
      if (key === undefined) continue
      const to = this.#slotOf(key)
      this.#keys[to] = key
      this.#values[to] = values[slot]
    }
    // What is left behind must not keep anything, see above.
    keys.fill(undefined)
    values.fill(undefined)
  }
}

/** Numbers that follow each other never meet; FNV-1a for the end of a text. */
const hashOf = (key: number | string): number => {
  if (typeof key === 'number') return key | 0
  let hash = 0x811c9dc5
  for (let i = Math.max(0, key.length - HASHED_CHARS); i < key.length; i++)
    hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return hash
}
