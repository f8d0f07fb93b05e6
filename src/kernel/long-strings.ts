/** A shorter string is found again as fast as it is looked up. */
export const LONG_BYTES = 4096
/** Strings that are remembered of one message; of more, the last ones. */
const MOST = 16
const QUOTE = 0x22

// A message is looked at several times on its way: it is validated, its members are found, its line breaks. Most of a large one is in a
// few long strings, of which each such pass would look at every byte. Where those of the last large message begin and end is remembered
// here, by their place in the memory that the message and all slices of it share. Nobody writes to bytes that were once read. All of it
// is forgotten at the end of the tick, so that nothing is kept longer than it is used.

let memory: ArrayBufferLike | undefined
const starts = new Float64Array(MOST)
const ends = new Float64Array(MOST)
let count = 0

/** Takes note of a string of at least `LONG_BYTES`, from its opening quote to behind the closing one. */
export function rememberString(bytes: Buffer, start: number, end: number): void {
  const { buffer, byteOffset } = bytes
  if (memory !== buffer) {
    if (memory === undefined) queueMicrotask(forget)
    memory = buffer
    count = 0
  }
  const slot = count % MOST
  starts[slot] = byteOffset + start
  ends[slot] = byteOffset + end
  count += 1
}

const forget = (): void => {
  memory = undefined
  count = 0
}

/** Behind the closing quote of the long string that starts at `i`, if it is remembered and ends within these bytes. */
export function rememberedEnd(bytes: Buffer, i: number): number | undefined {
  if (memory === undefined || memory !== bytes.buffer) return undefined
  const { byteOffset } = bytes
  const known = Math.min(count, MOST)
  for (let slot = 0; slot < known; slot++) {
    if (starts[slot] !== byteOffset + i) continue
    const end = (ends[slot] ?? 0) - byteOffset
    return end <= bytes.length && bytes[end - 1] === QUOTE ? end : undefined
  }
  return undefined
}

/** The parts of a text that are in none of the strings that are remembered, in order. */
export function outsideLongStrings(bytes: Buffer): Buffer[] {
  if (memory === undefined || memory !== bytes.buffer) return [bytes]
  const { byteOffset, length } = bytes
  const spans = Array.from({ length: Math.min(count, MOST) }, (_, slot) => ({
    start: (starts[slot] ?? 0) - byteOffset,
    end: (ends[slot] ?? 0) - byteOffset,
  }))
  const inside = spans
    .filter(({ start, end }) => start >= 0 && end <= length)
    .sort((a, b) => a.start - b.start)
  const parts: Buffer[] = []
  let from = 0
  for (const { start, end } of inside) {
    parts.push(bytes.subarray(from, start))
    from = end
  }
  parts.push(bytes.subarray(from))
  return parts
}
