/** Shorter values are walked as fast as they are looked up. */
export const LONG_BYTES = 16 * 1024
/** How many values are remembered of one message: four times as many as fit side by side in 64 MiB. */
const MOST = 16_384

// A message is passed over several times, and most of a large one is in a few long values, of which each pass
// would look at every byte. Where those begin and end is remembered by their place in the memory that the
// message shares with its slices, for as long as that lives. Nobody writes to bytes that were once read.

/** Values are indexed by the page they start in: a slice of a message need not look at all of them. */
const PAGE_BYTES = 64 * 1024
const pageOf = (place: number): number => Math.floor(place / PAGE_BYTES)

class LongValues {
  /** Where each ends, by where it starts. */
  readonly ends = new Map<number, number>()
  readonly #starts = new Map<number, number[]>()
  #leastBytes = LONG_BYTES

  add(start: number, end: number): void {
    if (end - start < this.#leastBytes) return
    while (this.ends.size >= MOST) this.#giveUp()
    if (!this.ends.has(start)) this.#index(start)
    this.ends.set(start, end)
  }

  /** Those that lie between two places, as where each starts and ends. */
  *between(from: number, to: number): Generator<readonly [number, number], void> {
    for (let page = pageOf(from); page <= pageOf(to); page++) {
      for (const start of this.#starts.get(page) ?? []) {
        const end = this.ends.get(start)
        if (start >= from && end !== undefined && end <= to) yield [start, end]
      }
    }
  }

  /** Too many, because they are nested: drops the shorter ones. */
  #giveUp(): void {
    this.#leastBytes *= 2
    this.#starts.clear()
    for (const [start, end] of this.ends) {
      if (end - start < this.#leastBytes) this.ends.delete(start)
      else this.#index(start)
    }
  }

  #index(start: number): void {
    const page = pageOf(start)
    const starts = this.#starts.get(page)
    if (starts === undefined) this.#starts.set(page, [start])
    else starts.push(start)
  }
}

const known = new WeakMap<ArrayBufferLike, LongValues>()

/** Remembers where a value or white space of at least `LONG_BYTES` begins and ends. */
export function rememberEnd(bytes: Buffer, start: number, end: number): void {
  const { buffer, byteOffset } = bytes
  let values = known.get(buffer)
  if (values === undefined) {
    values = new LongValues()
    known.set(buffer, values)
  }
  values.add(byteOffset + start, byteOffset + end)
}

/** Maps the place in memory where a long value starts to the one behind its end. */
export type Ends = ReadonlyMap<number, number> | undefined

export const endsIn = (bytes: Buffer): Ends => known.get(bytes.buffer)?.ends

/** Where the long value that starts at `start` ends, if it was passed before and is inside. */
export function knownEnd(bytes: Buffer, start: number, ends: Ends): number | undefined {
  const end = ends?.get(bytes.byteOffset + start)
  return end === undefined || end > bytes.byteOffset + bytes.length ? undefined : end - bytes.byteOffset
}

const valuesIn = (bytes: Buffer): Iterable<readonly [number, number]> =>
  known.get(bytes.buffer)?.between(bytes.byteOffset, bytes.byteOffset + bytes.length) ?? []

/**
 * Copies what is remembered of the original. `placeOf` says where in the copy what was at an offset is now
 * (the start of a value, or what is behind it); undefined if it is gone.
 */
export function rememberCopy(
  original: Buffer,
  copy: Buffer,
  placeOf: (offset: number, isEnd: boolean) => number | undefined,
): void {
  const { byteOffset } = original
  for (const [from, to] of valuesIn(original)) {
    const start = placeOf(from - byteOffset, false)
    const end = placeOf(to - byteOffset, true)
    if (start !== undefined && end !== undefined) rememberEnd(copy, start, end)
  }
}
