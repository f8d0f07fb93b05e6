import { useMemo, useState } from 'preact/hooks'
import { hrefOf } from '../live/route.js'
import type { CallRow, PageState } from '../live/state.js'
import { Filter } from '../parts/filter.js'
import { clockTime, many, ms } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { type Column, Table } from '../parts/table.js'
import { Empty } from '../parts/text.js'
import { InFlightView } from './in-flight.js'

const clientOf = ({ client, clientName }: CallRow) => (
  <span class="name">{clientName ?? `client ${client}`}</span>
)

const COLUMNS: readonly Column<CallRow>[] = [
  {
    head: 'Call',
    cell: ({ server, name, method }) => (
      <span class="name">
        {server !== undefined && <span class="muted wide">{server} › </span>}
        {name ?? method}
      </span>
    ),
    width: 'minmax(5rem, 3fr)',
  },
  { head: 'Outcome', cell: ({ outcome }) => <Lamp word={outcome} />, width: 'minmax(6rem, 1fr)' },
  { head: 'Took', cell: call => ms(call.ms), width: '4.5rem', isNumber: true, isWide: true },
  { head: 'Method', cell: ({ method }) => method, width: 'minmax(0, 1fr)', isWide: true },
  { head: 'Client', cell: clientOf, width: 'minmax(4rem, 1fr)', isWide: true },
  { head: 'At', cell: ({ at }) => clockTime(at), width: '6.5rem', isWide: true },
  {
    head: 'Error',
    cell: ({ errorId }) => (errorId === undefined ? '' : <a href={hrefOf('errors', errorId)}>{errorId}</a>),
    width: '5rem',
  },
]

/** Returns the calls whose visible text contains all words, newest first. @internal */
export const callsWith = (calls: readonly CallRow[], query: string): readonly CallRow[] => {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean)
  const texts = ({ server, name, method, outcome, errorId, client, clientName }: CallRow): string =>
    [server, name, method, outcome, errorId, 'client', client, clientName].join(' ').toLowerCase()
  return calls.filter(call => wanted.every(word => texts(call).includes(word))).reverse()
}

/** Lists the calls in flight and the last finished calls. The key `p` pauses it. */
export const Calls = ({ state, filter }: { readonly state: PageState; readonly filter: string }) => {
  const [held, setHeld] = useState<readonly CallRow[] | undefined>()
  const calls = held ?? state.calls
  const found = useMemo(() => callsWith(calls ?? [], filter), [calls, filter])
  if (calls === undefined) return <p class="muted">Loading …</p>
  return (
    <>
      <Filter view="calls" value={filter} label="Filter by server, tool, outcome or client">
        {many(found.length, 'call')} of the last 512{' '}
        <button
          type="button"
          id="pause"
          aria-pressed={held !== undefined}
          onClick={() => setHeld(held === undefined ? state.calls : undefined)}
        >
          {held === undefined ? 'Pause' : 'Go on'}
        </button>
      </Filter>
      <InFlightView calls={state.inFlight} />
      {found.length > 0 ? (
        <Table label="Calls that are over" columns={COLUMNS} rows={found} keyOf={({ n }) => n} />
      ) : (
        <Empty title={filter === '' ? 'No calls yet' : 'No matching calls'}>
          <p>Calls appear here as they happen, without arguments and results.</p>
        </Empty>
      )}
    </>
  )
}
