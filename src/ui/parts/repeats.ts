/** A row, and how often it came. */
export type Repeated<T> = T & { readonly times: number }

/** Joins rows that repeat the one before them by what `keyOf` returns; the first of them stays. */
export const joined = <T extends object>(rows: readonly T[], keyOf: (row: T) => string): Repeated<T>[] => {
  const all: Repeated<T>[] = []
  let lastKey: string | undefined
  for (const row of rows) {
    const key = keyOf(row)
    const last = key === lastKey ? all.pop() : undefined
    all.push({ ...(last ?? row), times: (last?.times ?? 0) + 1 })
    lastKey = key
  }
  return all
}
