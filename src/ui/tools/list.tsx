import { useMemo } from 'preact/hooks'
import type { ToolsView } from '../../control/api/views.js'
import { hrefOf } from '../live/route.js'
import type { PageState } from '../live/state.js'
import { type Chip, Chips, serverChips } from '../parts/chips.js'
import { Filter } from '../parts/filter.js'
import { countText, many, ms } from '../parts/format.js'
import { useLoad } from '../parts/load.js'
import { parseQuery } from '../parts/query.js'
import { type Column, Table } from '../parts/table.js'
import { CommandText, Empty } from '../parts/text.js'
import { WhyOf } from '../parts/why.js'
import { ACCESS, AccessTag, accessOfTool } from './access.js'

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
    const { words, is, server } = parseQuery(query)
    if (words.length === 0 && is.size === 0 && server === undefined) return tools
    return tools.filter(
      (tool, n) =>
        (server === undefined || tool.server === server) &&
        (is.size === 0 || is.has(accessOfTool(tool.annotations))) &&
        words.every(word => texts[n]?.includes(word)),
    )
  }
}

const COLUMNS: readonly Column<ToolRow>[] = [
  {
    head: 'Tool',
    cell: ({ name }) => <span class="name">{name}</span>,
    ...{ width: 'minmax(8rem, 5fr)', sortBy: ({ name }) => name },
  },
  {
    head: 'Access',
    cell: ({ annotations }) => <AccessTag access={accessOfTool(annotations)} />,
    ...{ width: '6.5rem', sortBy: ({ annotations }) => accessOfTool(annotations) },
  },
  {
    head: 'Server',
    cell: ({ name, own, server }) => (
      <span class="name">
        {server}
        {!name.endsWith(own) && <span class="muted"> › {own.slice(0, SEARCHED)}</span>}
      </span>
    ),
    ...{ width: 'minmax(5rem, 2fr)', isWide: true, sortBy: ({ server }) => server },
  },
  {
    head: 'Description',
    cell: ({ description = '' }) => <span class="muted">{description.slice(0, SEARCHED)}</span>,
    width: 'minmax(0, 5fr)',
    isWide: true,
  },
  {
    head: 'Tokens',
    cell: ({ tokens }) => countText(tokens),
    ...{ width: '4rem', isNumber: true, sortBy: ({ tokens }) => tokens },
  },
  {
    head: 'Calls',
    cell: ({ calls }) => (calls === 0 ? '–' : countText(calls)),
    ...{ width: '3.5rem', isNumber: true, isWide: true, sortBy: ({ calls }) => calls },
  },
  {
    head: 'Failed',
    cell: ({ errors }) => (errors === 0 ? '–' : countText(errors)),
    ...{ width: '3.75rem', isNumber: true, isWide: true, sortBy: ({ errors }) => errors },
  },
  {
    head: 'p50',
    cell: ({ p50Ms }) => ms(p50Ms),
    ...{ width: '4.25rem', isNumber: true, isWide: true, sortBy: ({ p50Ms }) => p50Ms },
  },
  {
    head: 'p99',
    cell: ({ p99Ms }) => ms(p99Ms),
    ...{ width: '4.25rem', isNumber: true, isWide: true, sortBy: ({ p99Ms }) => p99Ms },
  },
]

const tokensIn = (tools: readonly ToolRow[]): number => tools.reduce((sum, { tokens }) => sum + tokens, 0)

/** Returns the groups of tools, with the tokens of each: by access, and by server. */
const chipsOf = (tools: readonly ToolRow[]): readonly Chip[] => {
  const count = (group: readonly ToolRow[]): string =>
    `${countText(group.length)} · ${many(tokensIn(group), 'token')}`
  const byAccess = ACCESS.flatMap(access => {
    const group = tools.filter(({ annotations }) => accessOfTool(annotations) === access)
    return group.length === 0 ? [] : [{ label: access, condition: `is:${access}`, count: count(group) }]
  })
  const byServer = serverChips(
    tools.map(({ server }) => server),
    name => count(tools.filter(({ server }) => server === name)),
  )
  return [...byAccess, ...byServer]
}

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
  const { value: whole } = useLoad<ToolsView>(isCut && filter !== '' ? pathOf(filter) : undefined)
  const found = useMemo(
    () => (whole === undefined ? search(filter) : searchIn(whole.tools)(filter)),
    [whole, search, filter],
  )
  return { found, total: isCut ? (whole ?? value).total : found.length }
}

const pathOf = (filter: string): string => {
  const { words, server } = parseQuery(filter)
  const only = server === undefined ? '' : `&server=${encodeURIComponent(server)}`
  return `tools?q=${encodeURIComponent(words.join(' '))}${only}`
}

/** The list of tools that clients see, with a filter. */
export const ToolList = ({ state, filter }: { readonly state: PageState; readonly filter: string }) => {
  const isLong = (state.servers?.servers ?? []).reduce((sum, one) => sum + toolsOf(one), 0) > 1000
  const { value, why } = useLoad<ToolsView>(`tools?limit=${MOST}`, stampOf(state, isLong))
  const { found, total } = useFound(value, filter)
  const chips = useMemo(() => chipsOf(value?.tools ?? []), [value])
  if (why !== undefined) return <p class="wrong">{why}</p>
  if (value === undefined) return <p class="muted">Loading the list …</p>
  return (
    <>
      <Filter view="tools" value={filter} label="Find tools by name, server or description">
        {many(found.length, 'tool')}, {many(tokensIn(found), 'token')}
        {total > found.length && ` (of ${countText(total)})`}
      </Filter>
      <Chips view="tools" filter={filter} all={chips} />
      {found.length > 0 ? (
        <Table
          label="Tools"
          columns={COLUMNS}
          rows={found}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => hrefOf('tools', name)}
          noteOf={({ server, description = '' }) => (
            <span class="muted">{[server, description.slice(0, SEARCHED)].filter(Boolean).join(' · ')}</span>
          )}
          isNoteNarrow
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
