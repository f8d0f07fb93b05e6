import type { ComponentChildren } from 'preact'
import { hrefOf } from '../live/route.js'
import { type AnyServer, isOn, type PageState, problemsOf, type ServerRow, stateMsOf } from '../live/state.js'
import { age, countText, ms } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { Sparkline } from '../parts/sparkline.js'
import { type Column, Table } from '../parts/table.js'
import { CommandText, Empty } from '../parts/text.js'

const lastErrorOf = (server: AnyServer): string =>
  isOn(server) && server.lastError !== undefined ? `last error: ${server.lastError.message}` : ''

/** Returns its problems, or its last error. */
const remarksOf = (server: AnyServer, state: PageState): string =>
  [...new Set(problemsOf(state.servers, server.name).map(({ kind }) => kind))].join(', ') ||
  lastErrorOf(server)

/** Renders a cell of enabled servers; a dash for the others. */
const whenOn =
  (cell: (server: ServerRow) => ComponentChildren) =>
  (server: AnyServer): ComponentChildren =>
    (isOn(server) && cell(server)) || '–'

const columnsOf = (state: PageState): readonly Column<AnyServer>[] => [
  { head: 'Server', cell: ({ name }) => <span class="name">{name}</span>, width: 'minmax(7rem, 1.2fr)' },
  { head: 'State', cell: ({ state: word }) => <Lamp word={word} />, width: '7rem' },
  {
    head: 'Transport',
    cell: whenOn(server => server.transport),
    ...{ width: '5rem', isWide: true },
  },
  {
    head: 'Revision',
    cell: whenOn(server => server.revision),
    ...{ width: '6rem', isWide: true },
  },
  {
    head: 'Since',
    cell: whenOn(server => server.connections > 0 && age(stateMsOf(server, state))),
    ...{ width: '4.5rem', isNumber: true, isWide: true },
  },
  {
    head: 'Tools',
    cell: whenOn(({ items }) => items && countText(items.tools)),
    ...{ width: '3.5rem', isNumber: true },
  },
  {
    head: 'In flight',
    cell: whenOn(({ inFlight }) => inFlight > 0 && countText(inFlight)),
    ...{ width: '5.5rem', isNumber: true, isWide: true },
  },
  {
    head: 'p99',
    cell: whenOn(({ p99Ms }) => ms(p99Ms)),
    ...{ width: '4.5rem', isNumber: true, isWide: true },
  },
  {
    head: 'Last 10 minutes',
    cell: whenOn(({ slots }) => <Sparkline slots={slots} />),
    ...{ width: '8.5rem', isWide: true },
  },
  {
    head: 'Remarks',
    cell: server => <span class="muted">{remarksOf(server, state)}</span>,
    ...{ width: 'minmax(7rem, 1fr)', isWide: true },
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
    columns={columnsOf(state)}
    rows={servers}
    keyOf={({ name }) => name}
    hrefOf={({ name }) => hrefOf('servers', name)}
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
