/** A name, and how much of its spelling another one has, up to 1. */
export interface Alike {
  readonly name: string
  readonly share: number
}

/** The names that are spelt most like one that is not there, best first: by the pairs of letters in both. */
export const alike = (wanted: string, names: Iterable<string>, limit: number): readonly Alike[] => {
  const pairs = pairsOf(wanted)
  const all = [...names].map((name): Alike => {
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
