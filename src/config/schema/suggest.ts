const MAX_LENGTH = 48
const at = (row: readonly number[], i: number): number => row[i] ?? 0
const plain = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, '')

/** How many letters must be added, removed, replaced or swapped to turn one word into the other. @internal */
export function editDistance(from: string, to: string): number {
  let before: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      row[j] = Math.min(
        at(above, j) + 1,
        at(row, j - 1) + 1,
        at(above, j - 1) + (same ? 0 : 1),
        swapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = above
    above = row
  }
  return at(above, to.length)
}

/** The known word that was probably meant: up to a third of its letters may be wrong. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  if (word.length > MAX_LENGTH) return undefined
  const rated = known
    .map(candidate => ({ candidate, distance: editDistance(plain(word), plain(candidate)) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.distance - b.distance)
  return rated[0]?.candidate
}
