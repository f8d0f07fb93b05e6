/** How many notes are kept. */
const KEPT = 512
/** After so many they are counted, if nobody has asked before. */
const BATCH = 256
/** How many numbers each has. */
const NUMBERS = 4

/** Hears what a note is about, where its numbers begin, and which one it is, from 1. */
type Read<T> = (about: T, at: number, n: number) => void

/**
 * The last notes: a few numbers each, about something that many of them may share. They are counted many at a
 * time: amid the work of a call, whatever a count needs would first have to come from memory.
 */
export class Notes<T> {
  readonly numbers = new Float64Array(NUMBERS * KEPT)
  readonly #count: Read<T>
  readonly #about: T[] = []
  #taken = 0
  #counted = 0

  constructor(count: Read<T>) {
    this.#count = count
  }

  /** How many were taken. */
  get taken(): number {
    return this.#taken
  }

  /** Returns where its numbers are to be written, at once. */
  take(about: T): number {
    if (this.#taken - this.#counted >= BATCH) this.count()
    const at = this.#taken % KEPT
    this.#about[at] = about
    this.#taken += 1
    return NUMBERS * at
  }

  /** Counts those that are not counted yet. */
  count(): void {
    const from = this.#counted
    this.#counted = this.#taken
    this.read(from, this.#count)
  }

  /** Those after the one with this number, as far as they are kept; oldest first. */
  read(after: number, read: Read<T>): void {
    for (let n = Math.max(after, this.#taken - KEPT); n < this.#taken; n += 1) {
      const at = n % KEPT
      read(this.#about[at] as T, NUMBERS * at, n + 1)
    }
  }
}
