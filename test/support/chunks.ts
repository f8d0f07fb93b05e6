/** Cuts bytes at the given places (modulo their length), so that every chunk is a copy of its own. */
export function cutInto(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return at.slice(1).map((end, i) => Buffer.from(bytes.subarray(at[i], end)))
}
