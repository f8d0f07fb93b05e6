import type { ClientsView } from '../../control/api/views.js'
import { hrefOf } from '../live/route.js'
import type { PageState } from '../live/state.js'
import { bytes } from '../parts/format.js'
import { type Column, Table } from '../parts/table.js'
import { CommandText, Empty } from '../parts/text.js'

type ClientRow = ClientsView['clients'][number]

/** Describes a client's tool exposure and the reason. */
const toolsOf = ({ tools }: ClientRow) =>
  tools === undefined ? (
    '–'
  ) : (
    <>
      {tools.mode} <span class="muted">{tools.why}</span>
    </>
  )

const COLUMNS: readonly Column<ClientRow>[] = [
  {
    head: 'Client',
    cell: ({ name, version, id }) => (
      <span class="name">
        {name || `client ${id}`} <span class="muted">{version}</span>
      </span>
    ),
    ...{ width: 'minmax(7rem, 2fr)', sortBy: ({ name, id }) => name || `client ${id}` },
  },
  {
    head: 'Number',
    cell: ({ id }) => id,
    ...{ width: '5rem', isNumber: true, isWide: true, sortBy: ({ id }) => id },
  },
  {
    head: 'Transport',
    cell: ({ transport }) => transport ?? 'in this process',
    ...{ width: 'minmax(5rem, 0.6fr)', isWide: true, sortBy: ({ transport }) => transport },
  },
  {
    head: 'Revision',
    cell: ({ revision }) => revision,
    ...{ width: '6rem', isWide: true, sortBy: ({ revision }) => revision },
  },
  { head: 'Principal', cell: ({ principal }) => principal, width: 'minmax(0, 0.6fr)', isWide: true },
  { head: 'Tools', cell: toolsOf, width: 'minmax(6rem, 3fr)', isWide: true },
  {
    head: 'Unread',
    cell: ({ queuedBytes }) => (queuedBytes === 0 ? '–' : bytes(queuedBytes)),
    ...{ width: '4.5rem', isNumber: true, sortBy: ({ queuedBytes }) => queuedBytes },
  },
  {
    head: 'In flight',
    cell: ({ calls }) => (calls === 0 ? '–' : calls),
    ...{ width: '5rem', isNumber: true, sortBy: ({ calls }) => calls },
  },
]

/** Lists the clients as they describe themselves. */
export const Clients = ({ state }: { readonly state: PageState }) => {
  const { clients } = state
  if (clients === undefined) return <p class="muted">Loading …</p>
  if (clients.clients.length > 0)
    return (
      <Table
        label="Clients"
        columns={COLUMNS}
        rows={clients.clients}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOf('calls', '', `client ${id}`)}
        noteOf={({ transport = 'in this process', revision, tools }) => (
          <span class="muted">
            {[transport, revision, tools && `${tools.mode}: ${tools.why}`].filter(Boolean).join(' · ')}
          </span>
        )}
        isNoteNarrow
      />
    )
  return (
    <Empty title="No client is connected">
      <p>To add the proxy to the clients on this machine:</p>
      <CommandText text="mcp-proxy install --all" />
    </Empty>
  )
}
