import { FairShare } from '../../kernel/fair-share.js'
import { systemCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { isObject } from '../../kernel/object.js'
import { findFile, writePrivate } from '../../state/private-file.js'

/** What a shelf keeps; `exp` as in JWTs, in seconds since 1970. */
export interface Kept {
  readonly exp?: number | undefined
}

/** A shelf of which all replicas have the same. */
export interface SharedShelf {
  /** Takes what another replica has put there, or dropped, and tells nobody. */
  take(key: string, value: Kept | undefined): void
  entries(): Iterable<[string, Kept]>
}

/** What is there now, or was before it was dropped. */
export interface ShelfChange {
  readonly value?: Kept
  readonly before?: Kept
}

/** PORT. The shelves that all replicas have, by name. */
export interface ShelvesOfAll {
  add(name: string, shelf: SharedShelf): void
  /** Tells the others. */
  changed(name: string, key: string, change: ShelfChange): void
  /** Takes what others know of something that is not here. Rejects with a Fault `unavailable`. */
  seek(name: string, key: string): Promise<void>
}

export interface ShelfOptions<T> {
  /** The oldest of the owner with the most goes when there are more; then `onFull` is called. */
  readonly most: number
  readonly onFull?: () => void
  /** Whose it is: no owner can push out what others have. */
  readonly ownerOf?: (value: T) => string | undefined
  /** Whether it makes room before all others. */
  readonly isSpare?: (value: T) => boolean
  /** Whether it makes room before others of its family. */
  readonly isUsedUp?: (value: T) => boolean
  /** What belongs together and ends together; of each family only the newest `mostOfFamily` are kept. */
  readonly familyOf?: (value: T) => string | undefined
  readonly mostOfFamily?: number
  /** Where all is kept beyond a restart; only this user can read it. */
  readonly file?: string
  /** Where other replicas have the same under this name. */
  readonly shared?: { readonly shelves: ShelvesOfAll; readonly name: string } | undefined
  readonly log: Logger
}

/** No shelf may grow to this. */
const FILE_BYTES = 64 * 1024 * 1024

/** Things under keys, each until it expires, and perhaps in a file. The newest is what was changed last. */
export class Shelf<T extends Kept> {
  readonly #options: ShelfOptions<T>
  readonly #all = new Map<string, T>()
  readonly #families = new Map<string, Set<string>>()
  readonly #shares = new FairShare()
  readonly #spare = new FairShare()
  #writing: Promise<void> | undefined
  /** Changes that no write has begun to take along. */
  #unwritten = 0

  constructor(options: ShelfOptions<T>) {
    this.#options = options
    for (const [key, value] of Object.entries(this.#read())) if (isLive(value)) this.#put(key, value)
    options.shared?.shelves.add(options.shared.name, {
      take: (key, value) => this.#take(key, value as T | undefined),
      entries: () => this.entries(),
    })
  }

  /** Undefined for what is not there, or no longer. */
  get(key: string): T | undefined {
    const value = this.#all.get(key)
    if (value === undefined || isLive(value)) return value
    this.#drop(key)
    return undefined
  }

  /** The same; asks other replicas for what is not here. Rejects with a Fault `unavailable` if it cannot. */
  async seek(key: string): Promise<T | undefined> {
    const { shared } = this.#options
    if (shared !== undefined && this.get(key) === undefined) await shared.shelves.seek(shared.name, key)
    return this.get(key)
  }

  /** The oldest first, with those that have just expired. */
  entries(): IterableIterator<[string, T]> {
    return this.#all.entries()
  }

  get size(): number {
    return this.#all.size
  }

  /** The keys of a family, the oldest first. */
  family(name: string): readonly string[] {
    return [...(this.#families.get(name) ?? [])]
  }

  /** Resolves once the file holds it too. Never rejects: a disk that fails costs what a restart would. */
  set(key: string, value: T): Promise<void> {
    this.#drop(key)
    this.#put(key, value)
    this.#trim(key, value)
    const { shared } = this.#options
    shared?.shelves.changed(shared.name, key, { value })
    return this.#changed()
  }

  /** As `set`. */
  delete(...keys: readonly string[]): Promise<void> {
    const { shared } = this.#options
    for (const key of keys) {
      const before = this.#all.get(key)
      this.#drop(key)
      if (before !== undefined) shared?.shelves.changed(shared.name, key, { before })
    }
    return this.#changed()
  }

  #take(key: string, value: T | undefined): void {
    this.#drop(key)
    if (value !== undefined && isLive(value)) {
      this.#put(key, value)
      this.#trim(key, value)
    }
    void this.#changed()
  }

  #put(key: string, value: T): void {
    this.#all.set(key, value)
    this.#shareOf(value).add(this.#ownerOf(value), key)
    const family = this.#options.familyOf?.(value)
    if (family === undefined) return
    const keys = this.#families.get(family) ?? new Set()
    this.#families.set(family, keys.add(key))
  }

  #drop(key: string): void {
    const value = this.#all.get(key)
    if (value === undefined) return
    this.#all.delete(key)
    this.#shareOf(value).delete(this.#ownerOf(value), key)
    const family = this.#options.familyOf?.(value)
    const keys = family === undefined ? undefined : this.#families.get(family)
    keys?.delete(key)
    if (family !== undefined && keys?.size === 0) this.#families.delete(family)
  }

  #trim(newest: string, value: T): void {
    const { familyOf, most, mostOfFamily = most } = this.#options
    const family = familyOf?.(value)
    if (family !== undefined) this.#trimFamily(this.family(family), mostOfFamily)
    if (this.#all.size <= most) return
    for (const [key, value] of this.#all) if (!isLive(value)) this.#drop(key)
    for (let key = this.#next(newest); key !== undefined && this.#all.size > most; key = this.#next(newest)) {
      this.#drop(key)
      this.#options.onFull?.()
    }
  }

  /** Which one makes room, if possible for the newest. */
  #next(newest: string): string | undefined {
    const spare = this.#spare.next()
    return spare === undefined || spare === newest ? (this.#shares.next() ?? spare) : spare
  }

  #trimFamily(keys: readonly string[], most: number): void {
    if (keys.length <= most) return
    const { isUsedUp } = this.#options
    const used = keys.filter(key => {
      const value = this.#all.get(key)
      return value !== undefined && isUsedUp?.(value) === true
    })
    for (const key of [...new Set([...used, ...keys])].slice(0, keys.length - most)) this.#drop(key)
  }

  #ownerOf(value: T): string {
    return this.#options.ownerOf?.(value) ?? ''
  }

  #shareOf(value: T): FairShare {
    return this.#options.isSpare?.(value) === true ? this.#spare : this.#shares
  }

  async #changed(): Promise<void> {
    const { file } = this.#options
    if (file === undefined) return
    this.#unwritten += 1
    // What changes during a write needs another one.
    while (this.#unwritten > 0) {
      this.#writing ??= this.#write(file)
      await this.#writing
    }
    await this.#writing
  }

  async #write(file: string): Promise<void> {
    this.#unwritten = 0
    try {
      await writePrivate(file, JSON.stringify(Object.fromEntries(this.#all)))
    } catch (thrown) {
      this.#options.log.warn({ file, code: systemCode(thrown) }, 'cannot keep what clients were granted')
    }
    this.#writing = undefined
  }

  /** What the file holds, if only this user can have written and read it. */
  #read(): Readonly<Record<string, T>> {
    const { file, log } = this.#options
    if (file === undefined) return {}
    try {
      const found = findFile(file, FILE_BYTES)
      if (found === undefined) return {}
      const kept: unknown = found.isTrusted && found.isSecret ? JSON.parse(String(found.bytes)) : undefined
      // The file is ours alone, and so is its format.
      if (isObject(kept)) return kept as Readonly<Record<string, T>>
      log.warn({ file }, 'ignored a file that other users can read or write, or that is broken')
    } catch (thrown) {
      log.warn({ file, code: systemCode(thrown) }, 'cannot read what clients were granted')
    }
    return {}
  }
}

const isLive = ({ exp }: Kept): boolean => exp === undefined || exp * 1000 > Date.now()
