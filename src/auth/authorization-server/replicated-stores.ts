import type { Broadcasts } from '../../cluster/broadcasts.js'
import { type Clock, pause } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { Kept, ReplicatedStore, StoreChange, StoreRegistry } from './token-store.js'

const KIND = 'granted'
/** Retry interval of failed notifications: other replicas learn of a revocation soon after an outage. */
const AGAIN_MS = 1000
const LEAST_LIFE_MS = 1000
/** How long the engine keeps the news that an entry made room for others. */
const TRIMMED_MS = 60_000
/** Maximum number of concurrent writes. */
const AT_ONCE = 100

export interface ReplicatedStoresOptions {
  readonly broadcasts: Pick<Broadcasts, 'on' | 'read' | 'write'>
  /** Reports whether no live replica is older than this one. */
  readonly isEldest: () => boolean
  readonly clock: Clock
  readonly log: Logger
}

interface StoreUpdate {
  readonly store: string
  readonly key: string
  /** Absent after a deletion. */
  readonly value?: Kept
}

interface PendingUpdate {
  readonly update: StoreUpdate
  readonly ttlMs: number
  /** True if the entry was never published. */
  readonly isNew: boolean
}

/** Replicates the grants of clients: a change on one replica is applied on all. */
export class ReplicatedStores implements StoreRegistry {
  readonly #options: ReplicatedStoresOptions
  readonly #stores = new Map<string, ReplicatedStore>()
  /** Changes not yet published, by subject; bounded by the stores. */
  readonly #pending = new Map<string, PendingUpdate>()
  /** Subjects of changes that wait for a write, and of those that are being written. */
  readonly #waiting = new Set<string>()
  readonly #writing = new Set<string>()
  /** False until the entries that were read from files at the start have been compared with the engine. */
  #isCompared = false
  /** True if broadcasts were lost since the last comparison with the engine began. */
  #isOutdated = false
  #isComparing = false

  constructor(options: ReplicatedStoresOptions) {
    this.#options = options
    options.broadcasts.on(KIND, {
      received: value => this.#receive(value),
      lost: () => {
        this.#isOutdated = true
        if (!this.#isComparing) void this.#compare()
      },
    })
  }

  add(name: string, store: ReplicatedStore): void {
    this.#stores.set(name, store)
  }

  changed(store: string, key: string, change: StoreChange): void {
    const subject = subjectOf(store, key)
    const pending = this.#pending.get(subject)
    const isNew = pending?.isNew ?? change.before === undefined
    if (change.value === undefined && isNew && !this.#writing.has(subject)) {
      this.#forget(subject)
      return
    }
    const update = { store, key, ...(change.value && { value: change.value }) }
    this.#pending.set(subject, { update, ttlMs: lifeOf(change), isNew })
    if (!this.#writing.has(subject)) this.#waiting.add(subject)
    this.#writeWaiting()
  }

  expired(store: string, key: string): void {
    this.#forget(subjectOf(store, key))
  }

  /** Without the engine, the changes of entries that come and go would add up. */
  #forget(subject: string): void {
    this.#pending.delete(subject)
    this.#waiting.delete(subject)
  }

  #writeWaiting(): void {
    for (const subject of this.#waiting) {
      if (this.#writing.size >= AT_ONCE) return
      this.#waiting.delete(subject)
      this.#writing.add(subject)
      void this.#publish(subject).finally(() => {
        this.#writing.delete(subject)
        if (this.#pending.has(subject)) this.#waiting.add(subject)
        this.#writeWaiting()
      })
    }
  }

  async seek(store: string, key: string): Promise<void> {
    const stored = await this.#options.broadcasts.read(KIND, subjectOf(store, key))
    if (stored !== undefined) this.#receive(stored)
  }

  async #publish(subject: string): Promise<void> {
    const { broadcasts, clock, log } = this.#options
    for (;;) {
      const pending = this.#pending.get(subject)
      if (pending === undefined) return
      try {
        await broadcasts.write(KIND, subject, {
          value: Buffer.from(JSON.stringify(pending.update)),
          ttlMs: pending.ttlMs,
        })
        if (this.#pending.get(subject) === pending) this.#pending.delete(subject)
      } catch (thrown) {
        log.debug({ why: Fault.from(thrown).message }, 'a grant is not yet known to other replicas')
        await pause(clock, AGAIN_MS)
      }
    }
  }

  #receive(value: Buffer): void {
    // Only replicas have the key, so the content is trusted.
    const { store, key, value: kept } = JSON.parse(value.toString()) as StoreUpdate
    // An unpublished local change is newer.
    if (!this.#pending.has(subjectOf(store, key))) this.#stores.get(store)?.take(key, kept)
  }

  async #compare(): Promise<void> {
    this.#isComparing = true
    while (this.#isOutdated) {
      this.#isOutdated = false
      await this.#offerAll()
    }
    this.#isComparing = false
  }

  /**
   * Publishes the entries that the engine does not know, because it has lost its data. A replica that joins
   * others drops such entries of its files instead: they may have been revoked in its absence.
   */
  async #offerAll(): Promise<void> {
    const mayBeRevoked = !this.#isCompared && !this.#options.isEldest()
    for (const [name, store] of this.#stores)
      for (const [key, value] of [...store.entries()]) {
        const stored = await this.#readStored(subjectOf(name, key))
        if (stored !== undefined) this.#receive(stored)
        else if (!mayBeRevoked) this.changed(name, key, { value, before: value })
        else if (!this.#pending.has(subjectOf(name, key))) store.take(key, undefined)
      }
    this.#isCompared = true
  }

  /** Repeats the request until the engine answers: an entry that could not be read is not unknown. */
  async #readStored(subject: string): Promise<Buffer | undefined> {
    const { broadcasts, clock } = this.#options
    for (;;) {
      try {
        return await broadcasts.read(KIND, subject)
      } catch {
        await pause(clock, AGAIN_MS)
      }
    }
  }
}

/** Returns how long a change is kept in the engine, in milliseconds; 0 for always. */
const lifeOf = ({ value, before, isTrimmed }: StoreChange): number => {
  const { exp } = value ?? before ?? {}
  const leftMs = exp === undefined ? 0 : Math.max(LEAST_LIFE_MS, exp * 1000 - Date.now())
  return isTrimmed === true ? Math.min(leftMs || TRIMMED_MS, TRIMMED_MS) : leftMs
}

const subjectOf = (store: string, key: string): string => `${store} ${key}`
