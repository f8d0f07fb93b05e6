import type { Notes } from '../../cluster/notes.js'
import { type Clock, pause } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { Kept, SharedShelf, ShelfChange, ShelvesOfAll } from './shelf.js'

const KIND = 'granted'
/** Retry interval of failed notifications. */
const AGAIN_MS = 5000
const LEAST_LIFE_MS = 1000

export interface SharedShelvesOptions {
  readonly notes: Pick<Notes, 'on' | 'read' | 'write'>
  readonly clock: Clock
  readonly log: Logger
}

interface Told {
  readonly shelf: string
  readonly key: string
  /** Absent after a deletion. */
  readonly value?: Kept
}

interface Due {
  readonly told: Told
  readonly ttlMs: number
}

/** Replicates the grants of clients: a change on one replica is applied on all. */
export class SharedShelves implements ShelvesOfAll {
  readonly #options: SharedShelvesOptions
  readonly #shelves = new Map<string, SharedShelf>()
  /** Changes not yet published, by subject. */
  readonly #due = new Map<string, Due>()

  constructor(options: SharedShelvesOptions) {
    this.#options = options
    options.notes.on(KIND, { heard: value => this.#heard(value), lost: () => void this.#offerAll() })
  }

  add(name: string, shelf: SharedShelf): void {
    this.#shelves.set(name, shelf)
  }

  changed(shelf: string, key: string, change: ShelfChange): void {
    const { exp } = change.value ?? change.before ?? {}
    const ttlMs = exp === undefined ? 0 : Math.max(LEAST_LIFE_MS, exp * 1000 - Date.now())
    const subject = subjectOf(shelf, key)
    const isUnderWay = this.#due.has(subject)
    this.#due.set(subject, { told: { shelf, key, ...(change.value && { value: change.value }) }, ttlMs })
    if (!isUnderWay) void this.#tell(subject)
  }

  async seek(shelf: string, key: string): Promise<void> {
    const noted = await this.#options.notes.read(KIND, subjectOf(shelf, key))
    if (noted !== undefined) this.#heard(noted)
  }

  async #tell(subject: string): Promise<void> {
    const { notes, clock, log } = this.#options
    for (;;) {
      const due = this.#due.get(subject)
      if (due === undefined) return
      try {
        await notes.write(KIND, subject, { value: Buffer.from(JSON.stringify(due.told)), ttlMs: due.ttlMs })
        if (this.#due.get(subject) === due) this.#due.delete(subject)
      } catch (thrown) {
        log.debug({ why: Fault.from(thrown).message }, 'a grant is not yet known to other replicas')
        await pause(clock, AGAIN_MS)
      }
    }
  }

  #heard(value: Buffer): void {
    // Only replicas have the key, so the content is trusted.
    const { shelf, key, value: kept } = JSON.parse(value.toString()) as Told
    // An unpublished local change is newer.
    if (!this.#due.has(subjectOf(shelf, key))) this.#shelves.get(shelf)?.take(key, kept)
  }

  /** Publishes everything after a start, or when the engine has lost its data. */
  async #offerAll(): Promise<void> {
    for (const [name, shelf] of this.#shelves)
      for (const [key, value] of [...shelf.entries()]) {
        const noted = await this.#options.notes.read(KIND, subjectOf(name, key)).catch(() => undefined)
        if (noted === undefined) this.changed(name, key, { value })
        else this.#heard(noted)
      }
  }
}

const subjectOf = (shelf: string, key: string): string => `${shelf} ${key}`
