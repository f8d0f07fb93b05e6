const PRIMES: readonly number[] = Array.from({ length: 312 }, (_, at) => at).filter(
  n => n > 1 && ![2, 3, 5, 7, 11, 13, 17].some(p => p < n && n % p === 0),
)
const fraction = (value: number): number => ((value % 1) * 2 ** 32) | 0
const ROUNDS = PRIMES.slice(0, 64).map(prime => fraction(Math.cbrt(prime)))

/** SHA-256 in hex (FIPS 180-4), of a few bytes: to load `node:crypto` would take the shim a mebibyte. */
export const sha256 = (text: string): string => {
  const bytes = Buffer.from(text)
  const padded = Buffer.alloc((Math.floor((bytes.length + 8) / 64) + 1) * 64)
  bytes.copy(padded)
  padded[bytes.length] = 0x80
  padded.writeUInt32BE(bytes.length * 8, padded.length - 4)
  let state = PRIMES.slice(0, 8).map(prime => fraction(Math.sqrt(prime)))
  for (let at = 0; at < padded.length; at += 64) state = mixed(state, padded.subarray(at, at + 64))
  const digest = Buffer.alloc(32)
  for (const [at, word] of state.entries()) digest.writeInt32BE(word, at * 4)
  return digest.toString('hex')
}

const turned = (word: number, by: number): number => (word >>> by) | (word << (32 - by))
const small = (word: number, one: number, two: number, shift: number): number =>
  turned(word, one) ^ turned(word, two) ^ (word >>> shift)
const big = (word: number, one: number, two: number, three: number): number =>
  turned(word, one) ^ turned(word, two) ^ turned(word, three)

const mixed = (before: readonly number[], block: Buffer): number[] => {
  const words = Array.from({ length: 16 }, (_, at) => block.readInt32BE(at * 4))
  const word = (at: number): number => words[at] ?? 0
  for (let at = 16; at < 64; at++)
    words.push(
      (small(word(at - 2), 17, 19, 10) + word(at - 7) + small(word(at - 15), 7, 18, 3) + word(at - 16)) | 0,
    )
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = before
  for (const [at, round] of ROUNDS.entries()) {
    const one = (h + big(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + round + word(at)) | 0
    const two = (big(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0]
  }
  return [a, b, c, d, e, f, g, h].map((word, at) => (word + (before[at] ?? 0)) | 0)
}
