import { FairShare } from '../../kernel/fair-share.js'
import { systemCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { isObject } from '../../kernel/object.js'
import { findFile, writePrivate } from '../../state/private-file.js'

/** A stored value; `exp` in seconds since 1970, as in JWTs. */
export interface Kept {
  readonly exp?: number | undefined
}

/** A replicated store. */
export interface ReplicatedStore {
  /** Applies a change of another replica without publishing it again. */
  take(key: string, value: Kept | undefined): void
  entries(): Iterable<[string, Kept]>
}

/** The value before and after a change. */
export interface StoreChange {
  readonly value?: Kept | undefined
  readonly before?: Kept | undefined
  /** True if the entry was dropped to make room for others. */
  readonly isTrimmed?: boolean
}

/** PORT. Replicates stores by name. */
export interface StoreRegistry {
  add(name: string, store: ReplicatedStore): void
  /** Publishes a change. */
  changed(name: string, key: string, change: StoreChange): void
  /** Drops the unpublished change of an expired entry, which other replicas drop by themselves. */
  expired(name: string, key: string): void
  /** Loads an unknown value from other replicas. Rejects with a Fault `unavailable`. */
  seek(name: string, key: string): Promise<void>
}

export interface TokenStoreOptions<T> {
  /** Maximum size; above it, the oldest entry of the owner with the most is dropped and `onFull` called. */
  readonly most: number
  readonly onFull?: () => void
  /** Returns the owner, who cannot displace entries of others. */
  readonly ownerOf?: (value: T) => string | undefined
  /** Entries to drop before all others. */
  readonly isSpare?: (value: T) => boolean
  /** Entries to drop before others of their family. */
  readonly isUsedUp?: (value: T) => boolean
  /** Groups entries that end together; only the newest `mostOfFamily` of each family are kept. */
  readonly familyOf?: (value: T) => string | undefined
  readonly mostOfFamily?: number
  /** File for persistence; only this user can read it. */
  readonly file?: string
  /** Replication under this name. */
  readonly shared?: { readonly stores: StoreRegistry; readonly name: string } | undefined
  readonly log: Logger
}

/** Exceeds the size of any store. */
const FILE_BYTES = 64 * 1024 * 1024

/** Stores values with expiry, optionally in a file; ordered by last change. */
export class TokenStore<T extends Kept> {
  readonly #options: TokenStoreOptions<T>
  readonly #all = new Map<string, T>()
  readonly #families = new Map<string, Set<string>>()
  readonly #shares = new FairShare()
  readonly #spare = new FairShare()
  #writing: Promise<void> | undefined
  /** Changes not yet included in a write. */
  #unwritten = 0

  constructor(options: TokenStoreOptions<T>) {
    this.#options = options
    for (const [key, value] of Object.entries(this.#read()))
      if (isObject(value) && isLive(value)) this.#put(key, value)
    options.shared?.stores.add(options.shared.name, {
      take: (key, value) => this.#take(key, value as T | undefined),
      entries: () => this.entries(),
    })
  }

  /** Returns undefined for unknown and expired keys. */
  get(key: string): T | undefined {
    const value = this.#all.get(key)
    if (value === undefined || isLive(value)) return value
    this.#expire(key)
    return undefined
  }

  /** Also asks other replicas for an unknown key. Rejects with a Fault `unavailable` if that fails. */
  async seek(key: string): Promise<T | undefined> {
    const { shared } = this.#options
    if (shared !== undefined && this.get(key) === undefined) await shared.stores.seek(shared.name, key)
    return this.get(key)
  }

  /** Asks other replicas even for a known key. Without an answer, keeps the local value. Never rejects. */
  async refresh(key: string): Promise<void> {
    const { shared } = this.#options
    await shared?.stores.seek(shared.name, key).catch(() => undefined)
  }

  /** Returns entries, oldest first, including recently expired ones. */
  entries(): IterableIterator<[string, T]> {
    return this.#all.entries()
  }

  get size(): number {
    return this.#all.size
  }

  /** Returns the keys of a family, oldest first. */
  family(name: string): readonly string[] {
    return [...(this.#families.get(name) ?? [])]
  }

  /** Resolves after the write to the file. Never rejects: a failed write loses data only at a restart. */
  set(key: string, value: T): Promise<void> {
    const { shared } = this.#options
    const before = this.#drop(key)
    this.#put(key, value)
    shared?.stores.changed(shared.name, key, { value, before })
    this.#trim(key, value, (dropped, last) => {
      shared?.stores.changed(shared.name, dropped, { before: last, isTrimmed: true })
    })
    return this.#changed()
  }

  /** Resolves and persists like `set`. */
  delete(...keys: readonly string[]): Promise<void> {
    const { shared } = this.#options
    for (const key of keys) {
      const before = this.#drop(key)
      if (before !== undefined) shared?.stores.changed(shared.name, key, { before })
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

  /** Removes an entry and returns its value. */
  #drop(key: string): T | undefined {
    const value = this.#all.get(key)
    if (value === undefined) return undefined
    this.#all.delete(key)
    this.#shareOf(value).delete(this.#ownerOf(value), key)
    const family = this.#options.familyOf?.(value)
    const keys = family === undefined ? undefined : this.#families.get(family)
    keys?.delete(key)
    if (family !== undefined && keys?.size === 0) this.#families.delete(family)
    return value
  }

  #expire(key: string): void {
    const { shared } = this.#options
    this.#drop(key)
    shared?.stores.expired(shared.name, key)
  }

  /** Makes room after the entry `newest` was added; calls `onDropped` for each live entry that it drops. */
  #trim(newest: string, value: T, onDropped: (key: string, value: T) => void = () => undefined): void {
    const { familyOf, most, mostOfFamily = most } = this.#options
    const drop = (key: string): void => {
      const dropped = this.#drop(key)
      if (dropped !== undefined) onDropped(key, dropped)
    }
    const family = familyOf?.(value)
    if (family !== undefined) this.#overFamily(this.family(family), mostOfFamily).forEach(drop)
    if (this.#all.size <= most) return
    for (const [key, value] of this.#all) if (!isLive(value)) this.#expire(key)
    for (let key = this.#next(newest); key !== undefined && this.#all.size > most; key = this.#next(newest)) {
      drop(key)
      this.#options.onFull?.()
    }
  }

  /** Returns the entry to drop for a new one. */
  #next(newest: string): string | undefined {
    const spare = this.#spare.next()
    return spare === undefined || spare === newest ? (this.#shares.next() ?? spare) : spare
  }

  /** Returns the entries of a family that exceed its size. */
  #overFamily(keys: readonly string[], most: number): readonly string[] {
    if (keys.length <= most) return []
    const { isUsedUp } = this.#options
    const used = keys.filter(key => {
      const value = this.#all.get(key)
      return value !== undefined && isUsedUp?.(value) === true
    })
    return [...new Set([...used, ...keys])].slice(0, keys.length - most)
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
    // Changes during a write need another one.
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
      this.#options.log.warn({ file, code: systemCode(thrown) }, 'cannot save clients and grants')
    }
    this.#writing = undefined
  }

  /** Reads the file, unless other users can read or write it. */
  #read(): Readonly<Record<string, T>> {
    const { file, log } = this.#options
    if (file === undefined) return {}
    try {
      const found = findFile(file, FILE_BYTES)
      if (found === undefined) return {}
      const kept: unknown = found.isTrusted && found.isSecret ? JSON.parse(String(found.bytes)) : undefined
      // Only this program writes the file.
      if (isObject(kept)) return kept as Readonly<Record<string, T>>
      log.warn({ file }, 'ignored a file that is damaged, or that other users can read or write')
    } catch (thrown) {
      log.warn({ file, code: systemCode(thrown) }, 'cannot read clients and grants')
    }
    return {}
  }
}

const isLive = ({ exp }: Kept): boolean => exp === undefined || exp * 1000 > Date.now()
