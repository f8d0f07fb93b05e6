import type { ComponentChildren } from 'preact'
import { withOwnCommand } from '../live/api.js'
import { hrefOf } from '../live/route.js'
import { type AnyServer, isOn, type PageState, problemsOf, type ServerRow, stateMsOf } from '../live/state.js'
import { age, countText, many, ms } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import type { SortValue } from '../parts/sorting.js'
import { Sparkline } from '../parts/sparkline.js'
import { type Column, Table } from '../parts/table.js'
import { CommandText, Empty } from '../parts/text.js'

/** Maximum characters of a reason. */
const NOTE = 400

const lastErrorOf = (server: AnyServer): string =>
  isOn(server) && server.lastError !== undefined ? `last error: ${server.lastError.message}` : ''

/** The second line of a server: why it does not work, or how it is connected. */
const noteOf = (server: AnyServer, state: PageState): ComponentChildren => {
  const [worst, ...more] = problemsOf(state.servers, server.name).filter(({ level }) => level !== 'meant')
  if (worst !== undefined)
    return (
      <>
        <span class={worst.level}>{withOwnCommand(worst.words).slice(0, NOTE)}</span>
        {more.length > 0 && <span class="muted"> and {many(more.length, 'more problem')}</span>}
      </>
    )
  if (!isOn(server))
    return server.line === undefined ? '' : <span class="muted">line {server.line} of the file</span>
  const since = server.connections > 0 && `for ${age(stateMsOf(server, state))}`
  const parts = [server.transport, server.revision, since, lastErrorOf(server)]
  return <span class="muted">{parts.filter(Boolean).join(' · ')}</span>
}

/** Returns the failed calls of the last ten minutes. */
const failedOf = ({ slots }: ServerRow): number => slots.reduce((sum, { errors }) => sum + errors, 0)

/** Returns a value of enabled servers to sort by. */
const sortOn =
  (value: (server: ServerRow) => SortValue) =>
  (server: AnyServer): SortValue =>
    isOn(server) ? value(server) : undefined

/** Renders a cell of enabled servers; a dash for the others. */
const whenOn =
  (cell: (server: ServerRow) => ComponentChildren) =>
  (server: AnyServer): ComponentChildren =>
    (isOn(server) && cell(server)) || '–'

const COLUMNS: readonly Column<AnyServer>[] = [
  {
    head: 'Server',
    cell: ({ name }) => <span class="name">{name}</span>,
    ...{ width: 'minmax(5rem, 3fr)', sortBy: ({ name }) => name },
  },
  {
    head: 'State',
    cell: ({ state: word }) => <Lamp word={word} />,
    ...{ width: 'minmax(8.2rem, 1.2fr)', sortBy: ({ state }) => state },
  },
  {
    head: 'Tools',
    cell: whenOn(({ items }) => items && countText(items.tools)),
    ...{ width: '4rem', isNumber: true, sortBy: sortOn(({ items }) => items?.tools) },
  },
  {
    head: 'Tokens',
    cell: whenOn(({ tokens }) => tokens !== undefined && countText(tokens)),
    ...{ width: '5rem', isNumber: true, isWide: true, sortBy: sortOn(({ tokens }) => tokens) },
  },
  {
    head: 'In flight',
    cell: whenOn(({ inFlight }) => inFlight > 0 && countText(inFlight)),
    ...{ width: '5.5rem', isNumber: true, isWide: true, sortBy: sortOn(({ inFlight }) => inFlight) },
  },
  {
    head: 'Failed',
    cell: whenOn(server => failedOf(server) > 0 && countText(failedOf(server))),
    ...{ width: '4.5rem', isNumber: true, isWide: true, sortBy: sortOn(failedOf) },
  },
  {
    head: 'p99',
    cell: whenOn(({ p99Ms }) => ms(p99Ms)),
    ...{ width: '4.5rem', isNumber: true, isWide: true, sortBy: sortOn(({ p99Ms }) => p99Ms) },
  },
  {
    head: 'Last 10 minutes',
    cell: whenOn(({ slots }) => <Sparkline slots={slots} />),
    ...{ width: '8.5rem', isWide: true },
  },
]

export const ServerTable = ({
  state,
  servers,
}: {
  readonly state: PageState
  readonly servers: readonly AnyServer[]
}) => (
  <Table
    label="Servers"
    columns={COLUMNS}
    rows={servers}
    keyOf={({ name }) => name}
    hrefOf={({ name }) => hrefOf('servers', name)}
    noteOf={server => noteOf(server, state)}
  />
)

export const Servers = ({ state }: { readonly state: PageState }) => {
  const { servers } = state
  if (servers === undefined) return <p class="muted">Loading …</p>
  if (servers.servers.length > 0) return <ServerTable state={state} servers={servers.servers} />
  return (
    <Empty title="No server is configured">
      <CommandText text="mcp-proxy add NAME -- COMMAND" />
    </Empty>
  )
}
