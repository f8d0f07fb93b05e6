import type { PageState } from '../live/state.js'
import { age, bytes, countText } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { type Column, Table } from '../parts/table.js'

interface LimitRow {
  readonly name: string
  /** With its unit. */
  readonly value: number | string
  readonly hits: number
  readonly agoMs: number | undefined
}

/** Returns every limit with the number of times it was reached; reached limits come first. @internal */
export const limitRows = ({ config, status, now, statusAt }: PageState): readonly LimitRow[] => {
  const hits: Readonly<Record<string, { readonly hits: number; readonly agoMs: number }>> =
    status?.limits ?? {}
  const rows = Object.entries(config?.config.limits ?? {}).map(([name, value]): LimitRow => {
    const hit = hits[name]
    return { name, value, hits: hit?.hits ?? 0, agoMs: hit && hit.agoMs + now - statusAt }
  })
  return [...rows.filter(row => row.hits > 0), ...rows.filter(row => row.hits === 0)]
}

/** Formats the key of a limit in words: `calls per server`. @internal */
export const humanName = (key: string): string =>
  key.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)

const COLUMNS: readonly Column<LimitRow>[] = [
  {
    head: 'Limit',
    cell: ({ name }) => <span title={`limits.${name}`}>{humanName(name)}</span>,
    ...{ width: 'minmax(7rem, 1.5fr)', sortBy: ({ name }) => name },
  },
  {
    head: 'At most',
    cell: ({ value }) => (typeof value === 'number' ? countText(value) : value),
    width: 'minmax(5.5rem, 1fr)',
    isNumber: true,
  },
  {
    head: 'Reached',
    sortBy: ({ hits }) => hits,
    cell: ({ hits }) => (hits === 0 ? '–' : <Lamp word="odd" show={`${countText(hits)} ×`} />),
    width: '4.5rem',
    isNumber: true,
  },
  {
    head: 'Last',
    sortBy: ({ agoMs }) => agoMs,
    cell: ({ agoMs }) => (agoMs === undefined ? '–' : `${age(agoMs)} ago`),
    ...{ width: '7rem', isNumber: true, isWide: true },
  },
]

const PRESSURE = ['none', 'low', 'degraded', 'high', 'out of memory']

/** Lists the limits of the proxy and how often each was reached. */
export const LimitsView = ({ state }: { readonly state: PageState }) => {
  const { config, status } = state
  if (config === undefined || status === undefined) return <p class="muted">Loading …</p>
  const { pressure } = status
  return (
    <>
      <p>
        Memory pressure: <Lamp word={pressure < 2 ? 'ok' : 'failed'} show={PRESSURE[pressure] ?? ''} />{' '}
        <span class="muted">{bytes(status.rssBytes)} in use</span>
      </p>
      <Table label="Limits" columns={COLUMNS} rows={limitRows(state)} keyOf={({ name }) => name} />
    </>
  )
}
