import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { afterClick, type Sorting, type SortValue, sortedBy } from './sorting.js'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** A CSS grid track. */
  readonly width?: string
  readonly isNumber?: boolean
  /** Hidden on narrow screens. */
  readonly isWide?: boolean
  /** Returns the value to sort rows by. Without it, the column does not sort. */
  readonly sortBy?: (row: Row) => SortValue
}

export interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
  /** Returns the link of a row, which its first cell becomes. */
  readonly hrefOf?: ((row: Row) => string) | undefined
  /** Returns a second line of a row, across all columns. */
  readonly noteOf?: (row: Row) => ComponentChildren
  /** True if the second line appears only on narrow screens. */
  readonly isNoteNarrow?: boolean
}

/** The rows in the document: the visible ones and a few around them. */
interface Window {
  readonly from: number
  readonly to: number
}

const AROUND = 12
/** Tables up to this length are in the document as a whole. */
const WHOLE = 60

/** Returns the rows between two heights, measured from the top of the first row. @internal */
export const windowOf = (count: number, rowPx: number, top: number, bottom: number): Window => {
  if (count <= WHOLE || rowPx <= 0) return { from: 0, to: Math.min(count, WHOLE) }
  const from = Math.max(0, Math.min(count - 1, Math.floor(top / rowPx) - AROUND))
  return { from, to: Math.max(from, Math.min(count, Math.ceil(bottom / rowPx) + AROUND)) }
}

/** Returns the row that a key moves to. Undefined for other keys. @internal */
export const rowAfter = (key: string, at: number, count: number): number | undefined => {
  const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  const step = steps[key]
  return step === undefined ? undefined : Math.max(0, Math.min(count - 1, at + step))
}

/** All rows have the height that the style sheet sets. */
const rowPxOf = (body: HTMLElement): number =>
  Number.parseFloat(getComputedStyle(body).getPropertyValue('--row')) || 0

const useWindow = (count: number) => {
  const body = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState<Window & { readonly rowPx: number }>({ from: 0, to: WHOLE, rowPx: 0 })
  const look = (): void => {
    if (body.current === null) return
    const rowPx = rowPxOf(body.current)
    const { top } = body.current.getBoundingClientRect()
    const next = { ...windowOf(count, rowPx, -top, innerHeight - top), rowPx }
    setSeen(now => (now.from === next.from && now.to === next.to && now.rowPx === next.rowPx ? now : next))
  }
  useLayoutEffect(look, [count])
  useEffect(() => {
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [count])
  return { body, seen }
}

const classOf = <Row,>({ isNumber = false, isWide = false }: Column<Row>): string =>
  ['cell', isNumber && 'number', isWide && 'wide'].filter(Boolean).join(' ')

/** Returns the column widths. `isNarrow` excludes wide columns. */
const gridOf = <Row,>(columns: readonly Column<Row>[], isNarrow: boolean): string =>
  columns
    .filter(({ isWide = false }) => !isNarrow || !isWide)
    .map(({ width = 'minmax(0, 1fr)' }) => width)
    .join(' ')

/** The cells of a row. The first may be a link that Tab reaches. */
const Cells = <Row,>({
  row,
  columns,
  href,
  isActive,
}: Pick<TableProps<Row>, 'columns'> & {
  readonly row: Row
  readonly href: string | undefined
  readonly isActive: boolean
}) => (
  <>
    {columns.map((column, n) => (
      <span key={column.head} class={classOf(column)} role="cell">
        {n === 0 && href !== undefined ? (
          <a href={href} tabIndex={isActive ? 0 : -1}>
            {column.cell(row)}
          </a>
        ) : (
          column.cell(row)
        )}
      </span>
    ))}
  </>
)

const tableClassOf = <Row,>({ noteOf, isNoteNarrow = false }: TableProps<Row>, isWhole: boolean): string =>
  ['table', isWhole ? 'whole' : 'long', noteOf && (isNoteNarrow ? 'noted narrow' : 'noted')]
    .filter(Boolean)
    .join(' ')

/** The head of a column, which sorts the table if the column can. */
const Head = <Row,>({
  column,
  sorting,
  onSort,
}: {
  readonly column: Column<Row>
  readonly sorting: Sorting | undefined
  readonly onSort: (column: Column<Row>) => void
}) => {
  const { head, sortBy } = column
  const order = sorting?.head === head ? sorting.order : undefined
  return (
    <span class={classOf(column)} role="columnheader" aria-sort={order}>
      {sortBy === undefined ? (
        head
      ) : (
        <button type="button" class="sort" onClick={() => onSort(column)}>
          {head}
          <span aria-hidden="true">{order === undefined ? '' : order === 'ascending' ? ' ↑' : ' ↓'}</span>
        </button>
      )}
    </span>
  )
}

const HeadRow = <Row,>({
  columns,
  noteOf,
  ...sort
}: Pick<TableProps<Row>, 'columns' | 'noteOf'> & {
  readonly sorting: Sorting | undefined
  readonly onSort: (column: Column<Row>) => void
}) => (
  <div role="rowgroup">
    <div class="tr head" role="row" aria-rowindex={1}>
      {columns.map(column => (
        <Head key={column.head} column={column} {...sort} />
      ))}
      {noteOf !== undefined && (
        <span class="hidden" role="columnheader">
          Details
        </span>
      )}
    </div>
  </div>
)

/** How each table was last sorted, by label: a table keeps its order when its view opens again. */
const lastSorting = new Map<string, Sorting>()

const useSorting = <Row,>({ label, columns, rows }: TableProps<Row>) => {
  const [sorting, setSorting] = useState(() => lastSorting.get(label))
  const column = columns.find(({ head }) => head === sorting?.head)
  const sorted = useMemo(() => sortedBy(rows, column?.sortBy, sorting?.order), [rows, sorting])
  const onSort = (clicked: Column<Row>): void => {
    const isNumber = clicked.isNumber ?? false
    const next = afterClick(sorting, clicked.head, isNumber)
    if (next === undefined) lastSorting.delete(label)
    else lastSorting.set(label, next)
    setSorting(next)
  }
  return { rows: sorted, sorting, onSort }
}

/** Tracks the focused row, which arrow keys move. */
const useActive = <Row,>({ rows, keyOf, hrefOf }: TableProps<Row>) => {
  const [active, setActive] = useState<string | number | undefined>()
  const found = rows.findIndex(row => keyOf(row) === active)
  const at = Math.max(0, found)
  const onKeyDown = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
    const next = hrefOf && rowAfter(event.key, at, rows.length)
    const row = next === undefined ? undefined : rows[next]
    if (row === undefined || event.ctrlKey || event.altKey || event.metaKey) return
    event.preventDefault()
    const { currentTarget: body } = event
    setActive(keyOf(row))
    requestAnimationFrame(() => {
      const link = body.querySelector<HTMLElement>(`[data-row="${next}"] a`)
      link?.focus({ preventScroll: true })
      link?.scrollIntoView({ block: 'nearest' })
    })
  }
  return { found, at, setActive, onKeyDown }
}

/**
 * A table of any length that renders only the visible rows of a long list. Arrow keys move between rows; Tab
 * enters and leaves the table. The focused row stays rendered while scrolling.
 */
export const Table = <Row,>(props: TableProps<Row>) => {
  const { label, columns, keyOf, hrefOf, noteOf } = props
  const { rows, sorting, onSort } = useSorting(props)
  const { body, seen } = useWindow(rows.length)
  const { found, at, setActive, onKeyDown } = useActive({ ...props, rows })
  const shown = rows.map((_, n) => n).slice(seen.from, seen.to)
  if (found >= 0 && !shown.includes(found)) shown.push(found)
  const isWhole = rows.length <= WHOLE
  const rowPx = isWhole ? 0 : seen.rowPx
  return (
    <div
      class={tableClassOf(props, isWhole)}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      style={{ '--grid': gridOf(columns, false), '--narrow': gridOf(columns, true) }}
    >
      <HeadRow {...props} sorting={sorting} onSort={onSort} />
      <div
        class="body"
        role="rowgroup"
        ref={body}
        onKeyDown={onKeyDown}
        style={{ height: rowPx > 0 ? `${rows.length * rowPx}px` : 'auto' }}
      >
        {shown.map(n => {
          const row = rows[n] as Row
          const key = keyOf(row)
          return (
            <div
              key={key}
              class="tr"
              role="row"
              aria-rowindex={n + 2}
              data-row={n}
              style={rowPx > 0 ? { top: `${n * rowPx}px`, position: 'absolute' } : {}}
              onFocusIn={() => setActive(key)}
            >
              <Cells row={row} columns={columns} href={hrefOf?.(row)} isActive={n === at} />
              {noteOf !== undefined && (
                <span class="note" role="cell">
                  {noteOf(row)}
                </span>
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}
