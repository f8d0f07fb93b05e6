/**
 * Groups keys by owner, for stores with a bound: the owner with the most keys loses its oldest, so that no
 * owner can evict another's keys.
 */
export class FairShare {
  readonly #owners = new Map<string, Set<string>>()

  add(owner: string, key: string): void {
    const keys = this.#owners.get(owner) ?? new Set()
    this.#owners.set(owner, keys.add(key))
  }

  delete(owner: string, key: string): void {
    const keys = this.#owners.get(owner)
    keys?.delete(key)
    if (keys?.size === 0) this.#owners.delete(owner)
  }

  /** Returns the key to evict next; undefined if there is none. */
  next(): string | undefined {
    let most: ReadonlySet<string> = new Set()
    for (const keys of this.#owners.values()) if (keys.size > most.size) most = keys
    const [oldest] = most
    return oldest
  }
}

interface Entry<T> {
  readonly owner: string
  readonly value: T
}

/** A bounded map that evicts fairly between owners; see FairShare. */
export class FairMap<T> {
  readonly #max: number
  readonly #onFull: (() => void) | undefined
  readonly #entries = new Map<string, Entry<T>>()
  readonly #shares = new FairShare()

  /** `onFull` is called for each evicted entry. */
  constructor(max: number, onFull?: () => void) {
    this.#max = max
    this.#onFull = onFull
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value
  }

  has(key: string): boolean {
    return this.#entries.has(key)
  }

  set(key: string, value: T, owner: string): void {
    this.delete(key)
    while (this.#entries.size >= this.#max) {
      const spare = this.#shares.next()
      if (spare === undefined) break
      this.delete(spare)
      this.#onFull?.()
    }
    this.#entries.set(key, { owner, value })
    this.#shares.add(owner, key)
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#shares.delete(entry.owner, key)
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.delete(key)
  }

  /** Iterates oldest first. */
  *[Symbol.iterator](): Generator<[string, T]> {
    for (const [key, { value }] of this.#entries) yield [key, value]
  }
}
