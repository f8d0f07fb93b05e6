/** A shorter value is found again as fast as it is looked up. */
export const LONG_BYTES = 4096
/** Values that are remembered of one message: more than there can be side by side in 64 MiB. */
const MOST = 16_384
const QUOTE = 0x22

// A message is looked at several times on its way: it is validated, its members are found, its line breaks. Most of a large one is in
// long strings, arrays and objects, of which each such pass would look at every byte. Where those begin and end is remembered here, by
// their place in the memory that the message and all slices of it share, for as long as that memory lives. Nobody writes to bytes that
// were once read.

/** The long values in one piece of memory: where each ends, by where it starts. */
class LongValues {
  readonly ends = new Map<number, number>()
  #leastBytes = LONG_BYTES

  /** Where there are too many, because they are in each other, the shorter ones are given up. */
  add(start: number, end: number): void {
    if (end - start < this.#leastBytes) return
    while (this.ends.size >= MOST) {
      this.#leastBytes *= 2
      for (const [from, to] of this.ends) if (to - from < this.#leastBytes) this.ends.delete(from)
    }
    this.ends.set(start, end)
  }
}

const known = new WeakMap<ArrayBufferLike, LongValues>()

/** Takes note of a value, or of white space, of at least `LONG_BYTES`: of its first byte, and of what is behind its last one. */
export function rememberEnd(bytes: Buffer, start: number, end: number): void {
  const { buffer, byteOffset } = bytes
  let values = known.get(buffer)
  if (values === undefined) {
    values = new LongValues()
    known.set(buffer, values)
  }
  values.add(byteOffset + start, byteOffset + end)
}

/** The places of long values in memory: where each ends, by where it starts. */
export type Ends = ReadonlyMap<number, number> | undefined

/** The long values that are remembered of the memory in which these bytes are. */
export const endsIn = (bytes: Buffer): Ends => known.get(bytes.buffer)?.ends

/**
 * Takes note in a copy of what is remembered of the original. `placeOf` tells where in the copy what stood at an offset is now,
 * undefined if it is gone: the first byte of a value, or what is behind its last one.
 */
export function rememberCopy(
  original: Buffer,
  copy: Buffer,
  placeOf: (offset: number, isEnd: boolean) => number | undefined,
): void {
  const { byteOffset, length } = original
  for (const [from, to] of endsIn(original) ?? []) {
    if (from < byteOffset || to > byteOffset + length) continue
    const start = placeOf(from - byteOffset, false)
    const end = placeOf(to - byteOffset, true)
    if (start !== undefined && end !== undefined) rememberEnd(copy, start, end)
  }
}

/** The parts of a text that are in none of the strings that are remembered, in order. */
export function outsideLongStrings(bytes: Buffer): Buffer[] {
  const { byteOffset, length } = bytes
  const ends = endsIn(bytes)
  const starts: number[] = []
  for (const [start, end] of ends ?? []) {
    const isInside = start >= byteOffset && end <= byteOffset + length
    if (isInside && bytes[start - byteOffset] === QUOTE) starts.push(start)
  }
  starts.sort((a, b) => a - b)
  const parts: Buffer[] = []
  let from = 0
  for (const start of starts) {
    parts.push(bytes.subarray(from, start - byteOffset))
    from = (ends?.get(start) ?? start) - byteOffset
  }
  parts.push(bytes.subarray(from))
  return parts
}
