const MAX_LENGTH = 48
const at = (row: readonly number[], i: number): number => row[i] ?? 0
const plain = (word: string): string => word.toLowerCase().replace(/[-_ ]/g, '')

/**
 * Returns the number of added, removed, replaced or swapped letters between two words; infinite if it is more
 * than `most`. @internal
 */
export function editDistance(from: string, to: string, most = Number.POSITIVE_INFINITY): number {
  let before: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, i) => i)
  let leastAbove = 0
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    let least = i
    const letter = from.charCodeAt(i - 1)
    const last = from.charCodeAt(i - 2)
    for (let j = 1; j <= to.length; j++) {
      const other = to.charCodeAt(j - 1)
      let distance = at(above, j - 1) + (letter === other ? 0 : 1)
      distance = Math.min(distance, at(above, j) + 1, at(row, j - 1) + 1)
      const isSwapped = last === other && letter === to.charCodeAt(j - 2)
      if (isSwapped) distance = Math.min(distance, at(before, j - 2) + 1)
      row.push(distance)
      least = Math.min(least, distance)
    }
    // A swap begins two rows above.
    if (Math.min(least, leastAbove + 1) > most) return Number.POSITIVE_INFINITY
    before = above
    above = row
    leastAbove = least
  }
  return at(above, to.length)
}

/** Returns the known word closest to `word`; up to a third of its letters may differ. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  if (word.length > MAX_LENGTH) return undefined
  const written = plain(word)
  let found: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const most = Math.min(least - 1, Math.max(1, Math.floor(candidate.length / 3)))
    const meant = plain(candidate)
    // A cheap lower bound, because there may be thousands of words.
    if (Math.abs(meant.length - written.length) > most) continue
    const distance = editDistance(written, meant, most)
    if (distance > most) continue
    found = candidate
    least = distance
  }
  return found
}
