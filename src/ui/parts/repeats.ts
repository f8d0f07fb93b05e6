/** A row and its number of repeats. */
export type Repeated<T> = T & { readonly times: number }

/** Merges consecutive rows with the same `keyOf`, keeping the first. */
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
