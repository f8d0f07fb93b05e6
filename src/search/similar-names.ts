/** A name and the similarity of its spelling, up to 1. */
export interface SimilarName {
  readonly name: string
  readonly share: number
}

/** Returns the names with the most similar spelling, best first, by the letter pairs they share. */
export const similarNames = (
  wanted: string,
  names: Iterable<string>,
  limit: number,
): readonly SimilarName[] => {
  const pairs = pairsOf(wanted)
  const all = [...names].map((name): SimilarName => {
    const own = pairsOf(name)
    const both = [...own].filter(pair => pairs.has(pair)).length
    return { name, share: (2 * both) / Math.max(1, own.size + pairs.size) }
  })
  return all.sort((one, other) => other.share - one.share || (one.name < other.name ? -1 : 1)).slice(0, limit)
}

const pairsOf = (name: string): ReadonlySet<string> => {
  const letters = name.toLowerCase()
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)),
  )
}
