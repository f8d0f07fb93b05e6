/** A value to sort by. Rows without one come last. */
export type SortValue = number | string | undefined

export interface Sorting {
  /** The head of the column. */
  readonly head: string
  readonly order: 'ascending' | 'descending'
}

/**
 * Returns the sorting after a click on a head: largest numbers or first words, then the reverse, then none.
 */
export const afterClick = (
  now: Sorting | undefined,
  head: string,
  isNumber: boolean,
): Sorting | undefined => {
  const [first, second] = isNumber
    ? (['descending', 'ascending'] as const)
    : (['ascending', 'descending'] as const)
  if (now?.head !== head) return { head, order: first }
  return now.order === first ? { head, order: second } : undefined
}

/** Returns rows sorted by a value, or in their own order without one. Equal rows keep theirs. */
export const sortedBy = <Row>(
  rows: readonly Row[],
  sortBy: ((row: Row) => SortValue) | undefined,
  order: Sorting['order'] | undefined,
): readonly Row[] => {
  if (sortBy === undefined || order === undefined) return rows
  const sign = order === 'ascending' ? 1 : -1
  const pairs = rows.map(row => ({ row, value: sortBy(row) }))
  const known = pairs.filter(({ value }) => value !== undefined && value !== '')
  const unknown = pairs.filter(({ value }) => value === undefined || value === '')
  known.sort((one, other) => sign * compare(one.value ?? 0, other.value ?? 0))
  return [...known, ...unknown].map(({ row }) => row)
}

const collator = new Intl.Collator('en', { numeric: true })

const compare = (one: number | string, other: number | string): number =>
  typeof one === 'number' && typeof other === 'number' ? one - other : collator.compare(`${one}`, `${other}`)
