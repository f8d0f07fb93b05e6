import { useMemo, useState } from 'preact/hooks'
import { hrefOf } from '../live/route.js'
import type { CallRow, PageState } from '../live/state.js'
import { type Chip, Chips, serverChips } from '../parts/chips.js'
import { Filter } from '../parts/filter.js'
import { clockTime, countText, many, ms } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { parseQuery } from '../parts/query.js'
import { type Column, Table } from '../parts/table.js'
import { Empty } from '../parts/text.js'
import { InFlightView } from './in-flight.js'

const clientOf = ({ client, clientName }: CallRow) => (
  <span class="name">{clientName ?? `client ${client}`}</span>
)

const nameOf = ({ name, method }: CallRow): string => name ?? method

const COLUMNS: readonly Column<CallRow>[] = [
  {
    head: 'Call',
    cell: call => (
      <span class="name">
        {call.server !== undefined && <span class="muted wide">{call.server} › </span>}
        {nameOf(call)}
      </span>
    ),
    ...{ width: 'minmax(5rem, 3fr)', sortBy: call => `${call.server ?? ''} ${nameOf(call)}` },
  },
  {
    head: 'Outcome',
    cell: ({ outcome }) => <Lamp word={outcome} />,
    ...{ width: 'minmax(7.5rem, 1fr)', sortBy: ({ outcome }) => outcome },
  },
  {
    head: 'Took',
    cell: call => ms(call.ms),
    ...{ width: '4.5rem', isNumber: true, isWide: true, sortBy: call => call.ms },
  },
  {
    head: 'Method',
    cell: ({ method }) => method,
    ...{ width: 'minmax(0, 1fr)', isWide: true, sortBy: ({ method }) => method },
  },
  {
    head: 'Client',
    cell: clientOf,
    ...{
      width: 'minmax(4rem, 1fr)',
      isWide: true,
      sortBy: ({ clientName, client }) => clientName ?? `${client}`,
    },
  },
  {
    head: 'At',
    cell: ({ at }) => clockTime(at),
    ...{ width: '6.5rem', isWide: true, isNumber: true, sortBy: ({ at }) => Date.parse(at) },
  },
  {
    head: 'Error',
    cell: ({ errorId }) => (errorId === undefined ? '' : <a href={hrefOf('errors', errorId)}>{errorId}</a>),
    width: '4.5rem',
  },
]

/** A table of finished calls. */
export const CallList = ({
  label,
  calls,
}: {
  readonly label: string
  readonly calls: readonly CallRow[]
}) => (
  <Table
    label={label}
    columns={COLUMNS}
    rows={calls}
    keyOf={({ n }) => n}
    noteOf={({ server, clientName, client, ms: took, at }) => (
      <span class="muted">
        {[server, ms(took), clientName ?? `client ${client}`, clockTime(at)].filter(Boolean).join(' · ')}
      </span>
    )}
    isNoteNarrow
  />
)

/** Duration of a slow call if `log.slow` is off. */
const SLOW_MS = 1000

const FINE = new Set(['ok', 'input_required', 'task'])

/** Returns whether a call counts as failed, as the proxy counts. */
export const isFailed = ({ outcome }: CallRow): boolean => !FINE.has(outcome)

/**
 * Returns the calls whose visible text contains all words, newest first. `is:failed`, `is:slow` and
 * `server:NAME` select calls too.
 *
 * @internal
 */
export const callsWith = (calls: readonly CallRow[], query: string, slowMs = SLOW_MS): readonly CallRow[] => {
  const { words, is, server: wanted } = parseQuery(query)
  const texts = ({ server, name, method, outcome, errorId, client, clientName }: CallRow): string =>
    [server, name, method, outcome, errorId, 'client', client, clientName].join(' ').toLowerCase()
  return calls
    .filter(
      call =>
        (wanted === undefined || call.server === wanted) &&
        (!is.has('failed') || isFailed(call)) &&
        (!is.has('slow') || call.ms >= slowMs) &&
        words.every(word => texts(call).includes(word)),
    )
    .reverse()
}

const chipsOf = (calls: readonly CallRow[], slowMs: number): readonly Chip[] => [
  { label: 'Failed', condition: 'is:failed', count: countText(calls.filter(isFailed).length) },
  {
    label: `Slow (${ms(slowMs)})`,
    condition: 'is:slow',
    count: countText(calls.filter(call => call.ms >= slowMs).length),
  },
  ...serverChips(calls.map(({ server }) => server)),
]

/** Lists the calls in flight and the last finished calls. The key `p` pauses it. */
export const Calls = ({ state, filter }: { readonly state: PageState; readonly filter: string }) => {
  const [held, setHeld] = useState<readonly CallRow[] | undefined>()
  const calls = held ?? state.calls
  const slowMs = state.servers?.slowMs ?? SLOW_MS
  const found = useMemo(() => callsWith(calls ?? [], filter, slowMs), [calls, filter, slowMs])
  const chips = useMemo(() => chipsOf(calls ?? [], slowMs), [calls, slowMs])
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
      <Chips view="calls" filter={filter} all={chips} />
      <InFlightView calls={state.inFlight} />
      {found.length > 0 ? (
        <CallList label="Calls that are over" calls={found} />
      ) : (
        <Empty title={filter === '' ? 'No calls yet' : 'No matching calls'}>
          <p>Calls appear here as they happen, without arguments and results.</p>
        </Empty>
      )}
    </>
  )
}
