import { normalUri } from '../../catalog/names/uris.js'

interface Item {
  readonly own: string
  /** `own` in normal form. */
  readonly normal: string
}

/** Finds subscriptions by URI: the same one, another spelling of it, or the closest parent. */
export class UriIndex<T extends Item> {
  readonly #byUri = new Map<string, T>()
  /** Number of entries per length: only prefixes of these lengths are looked up. */
  readonly #lengths = new Map<number, number>()
  /** The oldest of each normal form comes first. */
  readonly #byNormal = new Map<string, Set<T>>()

  get size(): number {
    return this.#byUri.size
  }

  get(own: string): T | undefined {
    return this.#byUri.get(own)
  }

  values(): Iterable<T> {
    return this.#byUri.values()
  }

  add(item: T): void {
    if (this.#byUri.has(item.own)) return
    const { length } = item.own
    this.#lengths.set(length, (this.#lengths.get(length) ?? 0) + 1)
    this.#byUri.set(item.own, item)
    this.#byNormal.set(item.normal, (this.#byNormal.get(item.normal) ?? new Set()).add(item))
  }

  remove(item: T): void {
    if (!this.#byUri.delete(item.own)) return
    const { length } = item.own
    const left = (this.#lengths.get(length) ?? 1) - 1
    if (left === 0) this.#lengths.delete(length)
    else this.#lengths.set(length, left)
    const same = this.#byNormal.get(item.normal)
    same?.delete(item)
    if (same?.size === 0) this.#byNormal.delete(item.normal)
  }

  of(uri: string): T | undefined {
    const known = this.#byUri.get(uri)
    if (known !== undefined) return known
    const [same] = this.#byNormal.get(normalUri(uri)) ?? []
    return same ?? this.#above(uri)
  }

  /** Finds the longest parent URI, which ends before or after a `/`, `#` or `?`. */
  #above(uri: string): T | undefined {
    for (let at = uri.length - 1; at >= 0; at -= 1) {
      if (!'/#?'.includes(uri.charAt(at))) continue
      const above = this.#ofLength(uri, at + 1) ?? this.#ofLength(uri, at)
      if (above !== undefined) return above
    }
    return undefined
  }

  #ofLength(uri: string, length: number): T | undefined {
    return this.#lengths.has(length) ? this.#byUri.get(uri.slice(0, length)) : undefined
  }
}
