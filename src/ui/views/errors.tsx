import { useMemo } from 'preact/hooks'
import { hrefOf } from '../live/route.js'
import type { ErrorRow, PageState } from '../live/state.js'
import { Chips, serverChips } from '../parts/chips.js'
import { type Fact, FactList } from '../parts/facts.js'
import { Filter } from '../parts/filter.js'
import { clockTime, countText, many, ms } from '../parts/format.js'
import { parseQuery } from '../parts/query.js'
import { joined, type Repeated } from '../parts/repeats.js'
import { type Column, Table } from '../parts/table.js'
import { Empty, LongText, Path } from '../parts/text.js'
import { WhyOf } from '../parts/why.js'

/** Returns the same key for errors with the same message and place. @internal */
export const sameness = ({ message, server, name, method }: ErrorRow): string =>
  [message, server, name ?? method].join('\n')

const COLUMNS: readonly Column<Repeated<ErrorRow>>[] = [
  { head: 'Id', cell: ({ id }) => id, width: '6.5rem' },
  {
    head: 'At',
    cell: ({ at }) => clockTime(at),
    ...{ width: '6.5rem', isWide: true, isNumber: true, sortBy: ({ at }) => Date.parse(at) },
  },
  {
    head: 'Server',
    cell: ({ server = '–' }) => server,
    ...{ width: 'minmax(4rem, 1fr)', isWide: true, sortBy: ({ server }) => server },
  },
  {
    head: 'Called',
    cell: ({ name, method = '–' }) => <span class="name">{name ?? method}</span>,
    ...{ width: 'minmax(0, 1fr)', isWide: true, sortBy: ({ name, method }) => name ?? method },
  },
  {
    head: 'Message',
    cell: ({ message, times }) => (
      <>
        {times > 1 && <span class="tag">{countText(times)} ×</span>} {message.slice(0, 400)}
      </>
    ),
    ...{ width: 'minmax(0, 4fr)', sortBy: ({ message }) => message },
  },
  {
    head: 'Took',
    cell: error => ms(error.ms),
    ...{ width: '5rem', isNumber: true, isWide: true, sortBy: error => error.ms },
  },
]

/** A table of errors, newest first, with repeated ones as one row. */
export const ErrorTable = ({
  label,
  errors,
}: {
  readonly label: string
  readonly errors: readonly ErrorRow[]
}) => {
  const rows = useMemo(() => joined(errors, sameness), [errors])
  return (
    <Table
      label={label}
      columns={COLUMNS}
      rows={rows}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => hrefOf('errors', id)}
      noteOf={({ server, name, method, at }) => (
        <span class="muted">{[server, name ?? method, clockTime(at)].filter(Boolean).join(' · ')}</span>
      )}
      isNoteNarrow
    />
  )
}

/** @internal */
export const errorsWith = (errors: readonly ErrorRow[], query: string): readonly ErrorRow[] => {
  const { words, server: wanted } = parseQuery(query)
  const textOf = ({ id, server = '', name = '', method = '', message, fault }: ErrorRow): string =>
    `${id} ${server} ${name} ${method} ${message} ${fault ?? ''}`.toLowerCase()
  return errors
    .filter(
      error =>
        (wanted === undefined || error.server === wanted) &&
        words.every(word => textOf(error).includes(word)),
    )
    .reverse()
}

/** Lists the last errors sent to clients. */
export const Errors = ({ state, filter }: { readonly state: PageState; readonly filter: string }) => {
  const { errors } = state
  const found = useMemo(() => errorsWith(errors ?? [], filter), [errors, filter])
  const chips = useMemo(() => serverChips((errors ?? []).map(({ server }) => server)), [errors])
  if (errors === undefined) return <p class="muted">Loading …</p>
  return (
    <>
      <Filter view="errors" value={filter} label="Filter by id, server, name or words">
        {many(found.length, 'error')} of the last 1,000
      </Filter>
      <Chips view="errors" filter={filter} all={chips} />
      {found.length > 0 ? (
        <ErrorTable label="Errors" errors={found} />
      ) : (
        <Empty title={filter === '' ? 'No errors' : 'No matching errors'}>
          <p>Only errors of the proxy appear here, not errors of servers.</p>
        </Empty>
      )}
    </>
  )
}

/** Shows the error with an id. */
export const ErrorOf = ({ state, id }: { readonly state: PageState; readonly id: string }) => {
  const error = state.errors?.find(one => one.id === id)
  return (
    <>
      <Path view="errors" title="Errors" />
      <h2 class="name">{id}</h2>
      {error !== undefined && (
        <>
          <p class="prose">
            <LongText text={error.message} />
          </p>
          <FactList all={factsOf(error)} />
          {(error.stderr?.length ?? 0) > 0 && (
            <>
              <h3>Server output before the error</h3>
              <pre tabIndex={0}>
                <LongText text={error.stderr?.join('\n') ?? ''} />
              </pre>
            </>
          )}
        </>
      )}
      <h3>Why</h3>
      <WhyOf query={id} />
    </>
  )
}

const factsOf = ({
  at,
  code,
  fault,
  server,
  name,
  method,
  client,
  ms: took,
  awayMs,
  state,
}: ErrorRow): readonly Fact[] => [
  ['At', clockTime(at)],
  ['Code', `${code}${fault === undefined ? '' : `, ${fault}`}`],
  ['Server', server],
  ['Called', name ?? method],
  ['Client', client],
  ['Took', took === undefined ? undefined : ms(took)],
  ['Server and waiting time', awayMs === undefined ? undefined : ms(awayMs)],
  ['Server state', state],
]
