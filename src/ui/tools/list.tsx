import { useMemo } from 'preact/hooks'
import type { ToolsView } from '../../control/api/views.js'
import { hrefOf } from '../live/route.js'
import type { PageState } from '../live/state.js'
import { Filter } from '../parts/filter.js'
import { bytes, countText, many, ms } from '../parts/format.js'
import { useLoad } from '../parts/load.js'
import { type Column, Table } from '../parts/table.js'
import { CommandText, Empty } from '../parts/text.js'
import { WhyOf } from '../parts/why.js'

type ToolRow = ToolsView['tools'][number]

const MOST = 10_000
/** Characters of a description that are searched. */
const SEARCHED = 400

/** Returns the tools with all words in their names, server, title or description. @internal */
export const searchIn = (tools: readonly ToolRow[]): ((query: string) => readonly ToolRow[]) => {
  const texts = tools.map(({ name, own, server, title = '', description = '' }) =>
    `${name} ${own} ${server} ${title} ${description.slice(0, SEARCHED)}`.toLowerCase(),
  )
  return query => {
    const wanted = query.toLowerCase().split(/\s+/).filter(Boolean)
    return wanted.length === 0
      ? tools
      : tools.filter((_, n) => wanted.every(word => texts[n]?.includes(word)))
  }
}

const COLUMNS: readonly Column<ToolRow>[] = [
  { head: 'Tool', cell: ({ name }) => <span class="name">{name}</span>, width: 'minmax(9rem, 5fr)' },
  {
    head: 'Server',
    cell: ({ name, own, server }) => (
      <span class="name">
        {server}
        {!name.endsWith(own) && <span class="muted"> › {own.slice(0, SEARCHED)}</span>}
      </span>
    ),
    ...{ width: 'minmax(5rem, 2.5fr)', isWide: true },
  },
  {
    head: 'Description',
    cell: ({ description = '' }) => <span class="muted">{description.slice(0, SEARCHED)}</span>,
    width: 'minmax(0, 5fr)',
    isWide: true,
  },
  {
    head: 'Calls',
    cell: ({ calls }) => (calls === 0 ? '–' : countText(calls)),
    width: '3.5rem',
    isNumber: true,
  },
  {
    head: 'Failed',
    cell: ({ errors }) => (errors === 0 ? '–' : countText(errors)),
    width: '3.5rem',
    isNumber: true,
    isWide: true,
  },
  { head: 'p50', cell: ({ p50Ms }) => ms(p50Ms), width: '4.25rem', isNumber: true, isWide: true },
  { head: 'p99', cell: ({ p99Ms }) => ms(p99Ms), width: '4.25rem', isNumber: true, isWide: true },
  {
    head: 'In the list',
    cell: ({ bytes: size }) => bytes(size),
    width: '4.75rem',
    isNumber: true,
    isWide: true,
  },
]

/** Returns a stamp that changes when the list must be read again; a long list changes it less often. */
const stampOf = ({ now, servers }: PageState, isLong: boolean): string => {
  const calls = servers?.servers
    .map(server => ('items' in server ? `${server.items?.tools ?? ''}` : ''))
    .join()
  return `${Math.floor(now / (isLong ? 60_000 : 5000))} ${calls ?? ''}`
}

/** Returns the matching tools and their total. Beyond the page's limit, the proxy searches. */
const useFound = (value: ToolsView | undefined, filter: string) => {
  const search = useMemo(() => searchIn(value?.tools ?? []), [value])
  const isCut = value !== undefined && value.total > value.tools.length
  const { value: whole } = useLoad<ToolsView>(
    isCut && filter !== '' ? `tools?q=${encodeURIComponent(filter)}` : undefined,
  )
  const found = useMemo(() => whole?.tools ?? search(filter), [whole, search, filter])
  return { found, total: isCut ? (whole ?? value).total : found.length }
}

/** The list of tools that clients see, with a filter. */
export const ToolList = ({ state, filter }: { readonly state: PageState; readonly filter: string }) => {
  const isLong = (state.servers?.servers ?? []).reduce((sum, one) => sum + toolsOf(one), 0) > 1000
  const { value, why } = useLoad<ToolsView>(`tools?limit=${MOST}`, stampOf(state, isLong))
  const { found, total } = useFound(value, filter)
  if (why !== undefined) return <p class="wrong">{why}</p>
  if (value === undefined) return <p class="muted">Loading the list …</p>
  const size = found.reduce((sum, one) => sum + one.bytes, 0)
  return (
    <>
      <Filter view="tools" value={filter} label="Find tools by name, server or description">
        {many(found.length, 'tool')}, {bytes(size)} in the list
        {total > found.length && ` (of ${countText(total)})`}
      </Filter>
      {found.length > 0 ? (
        <Table
          label="Tools"
          columns={COLUMNS}
          rows={found}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => hrefOf('tools', name)}
        />
      ) : (
        <NoTools filter={filter} />
      )}
    </>
  )
}

const NoTools = ({ filter }: { readonly filter: string }) =>
  filter === '' ? (
    <Empty title="No tools yet">
      <p>The tools of a server appear after its first connection. To add a server:</p>
      <CommandText text="mcp-proxy add NAME -- COMMAND" />
    </Empty>
  ) : (
    <Empty title={`No tools match “${filter.slice(0, 80)}”`}>
      <WhyOf query={filter} />
    </Empty>
  )

const toolsOf = (server: object): number =>
  'items' in server ? ((server.items as { readonly tools?: number } | undefined)?.tools ?? 0) : 0
