import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { change } from '../live/api.js'
import { hrefOf } from '../live/route.js'
import { type AnyServer, isOn, type PageState, problemsOf, type ServerRow, stateMsOf } from '../live/state.js'
import { Charts } from '../parts/chart.js'
import { Action } from '../parts/dialog.js'
import { type Fact, FactList } from '../parts/facts.js'
import { age, bytes, countText, many, ms } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { serverFilter } from '../parts/query.js'
import { Empty, Path } from '../parts/text.js'
import { WhyOf } from '../parts/why.js'
import { ToolSwitches } from '../tools/switches.js'
import { CallList } from './calls.js'
import { ErrorTable } from './errors.js'
import { Log } from './log.js'
import { ProblemList } from './problem-list.js'

const LISTS = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'template',
  skills: 'skill',
} as const
const REASONS = { filter: 'hidden by a filter', broken: 'broken', twice: 'repeated' } as const

/** Formats the number of visible items in each list. @internal */
export const listText = ({ items }: ServerRow): string =>
  items === undefined
    ? 'not read yet'
    : (Object.entries(LISTS) as [keyof typeof LISTS, string][])
        .filter(([list]) => items[list] > 0)
        .map(([list, word]) => many(items[list], word))
        .join(', ') || 'nothing'

/** Formats the number of hidden tools and the reasons. @internal */
export const leftOutText = ({ leftOut, truncated }: ServerRow): string => {
  const reasons = (Object.entries(REASONS) as [keyof typeof REASONS, string][])
    .filter(([reason]) => (leftOut?.[reason] ?? 0) > 0)
    .map(([reason, message]) => `${countText(leftOut?.[reason] ?? 0)} ${message}`)
  return [...reasons, ...truncated.map(list => `the list of ${list} was truncated at a limit`)].join(', ')
}

/** Formats the names of hidden tools. @internal */
export const hiddenText = ({ hidden, leftOut }: ServerRow): string => {
  const all = Object.values(leftOut ?? {}).reduce((sum, one) => sum + one, 0)
  const more = all - hidden.length
  return [...hidden, ...(hidden.length > 0 && more > 0 ? [`${countText(more)} more`] : [])].join(', ')
}

/** Returns the place of a server in the configuration file. */
const placeOf = ({ line }: AnyServer, { status }: PageState): string | undefined =>
  line === undefined ? undefined : `${status?.config?.file ?? 'line '}:${line}`

/** Formats how often a server was started again. */
const restartsOf = (
  { restarts, restartedMs, failures }: ServerRow,
  { now, serversAt }: PageState,
): string => {
  const last = restartedMs === undefined ? '' : `, the last ${age(restartedMs + now - serversAt)} ago`
  const row = failures > 1 ? `; ${countText(failures)} failures in a row` : ''
  return `${restarts}${last}${row}`
}

const listsOf = (server: ServerRow) => {
  const lists = listText(server)
  const hasTools = (server.items?.tools ?? 0) > 0
  return hasTools ? <a href={hrefOf('tools', '', serverFilter(server.name))}>{lists}</a> : lists
}

const factsOf = (server: ServerRow, state: PageState): readonly Fact[] => {
  return [
    [
      'State',
      <>
        <Lamp word={server.state} />
        {server.connections > 0 && <span class="muted"> for {age(stateMsOf(server, state))}</span>}
      </>,
    ],
    [server.transport === 'stdio' ? 'Command' : 'Address', server.target && <code>{server.target}</code>],
    ['Transport', server.transport],
    ['Revision', server.revision ?? '–'],
    ['Configured', placeOf(server, state)],
    ['Restarts', restartsOf(server, state)],
    ['For clients at', server.url],
    ['Processes', server.pids.length === 0 ? '–' : `${server.pids.join(', ')} · ${bytes(server.rssBytes)}`],
    ['Lists', listsOf(server)],
    ['Left out', leftOutText(server) || undefined],
    ['Hidden tools', hiddenText(server) || undefined],
    ['Last error', server.lastError && `${server.lastError.message} (${age(server.lastError.agoMs)} ago)`],
    ['Clients', countText(server.clients)],
    ['In flight', countText(server.inFlight)],
    ['p50, p99', server.p50Ms === undefined ? '–' : `${ms(server.p50Ms)}, ${ms(server.p99Ms)}`],
  ]
}

const post = (name: string, what: string) => () => change(`servers/${encodeURIComponent(name)}/${what}`)

/** The actions on a server that need no change of its configuration. */
const Actions = ({ server }: { readonly server: AnyServer }) => {
  const { name } = server
  if (!isOn(server))
    return server.where === 'here' ? <Action label="Enable" act={post(name, 'enable')} /> : null
  return (
    <>
      <Action
        id="restart"
        label="Restart"
        question={`Restart ${name}? This closes its connections, and its calls in flight fail.`}
        act={post(name, 'restart')}
      />
      <Action
        label="Disable"
        question={`Disable ${name} until its configuration entry changes or the proxy ends? Clients lose its tools.`}
        act={post(name, 'disable')}
      />
    </>
  )
}

/** Changes when the switches of a server's tools must be read again. */
const stampOf = ({ items, leftOut }: ServerRow, { status }: PageState): string =>
  [items?.tools, leftOut?.filter, status?.config?.generation].join()

/** Maximum calls and errors on the page of a server. */
const LATEST = 8

/** The latest calls and errors of a server, with links to all. */
const Latest = ({ state, name }: { readonly state: PageState; readonly name: string }) => {
  const calls = useMemo(() => latestOf(state.calls, name), [state.calls, name])
  const errors = useMemo(() => latestOf(state.errors, name), [state.errors, name])
  return (
    <>
      {errors.length > 0 && (
        <LatestSection of="errors" name={name}>
          <ErrorTable label="Latest errors" errors={errors} />
        </LatestSection>
      )}
      {calls.length > 0 && (
        <LatestSection of="calls" name={name}>
          <CallList label="Latest calls" calls={calls} />
        </LatestSection>
      )}
    </>
  )
}

const LatestSection = ({
  of,
  name,
  children,
}: {
  readonly of: 'calls' | 'errors'
  readonly name: string
  readonly children: ComponentChildren
}) => (
  <section aria-labelledby={`latest-${of}`}>
    <h3 id={`latest-${of}`}>
      Latest {of} <a href={hrefOf(of, '', serverFilter(name))}>all</a>
    </h3>
    {children}
  </section>
)

const latestOf = <T extends { readonly server?: string | undefined }>(
  all: readonly T[] | undefined,
  name: string,
): readonly T[] =>
  (all ?? [])
    .filter(({ server }) => server === name)
    .slice(-LATEST)
    .reverse()

/** The facts of an enabled server, and its last ten minutes. */
const RunningServer = ({
  server,
  state,
  slotMs,
}: {
  readonly server: ServerRow
  readonly state: PageState
  readonly slotMs: number
}) => {
  const { lastFault, slots } = server
  return (
    <>
      <section aria-labelledby="facts">
        <h3 id="facts">Facts</h3>
        <FactList all={factsOf(server, state)} />
      </section>
      {lastFault !== undefined && (
        <p class="muted">
          Last error of a client: <a href={hrefOf('errors', lastFault.id)}>{lastFault.id}</a>,{' '}
          {lastFault.message}
        </p>
      )}
      <section aria-labelledby="charts">
        <h3 id="charts">Last 10 minutes</h3>
        {slots.some(({ calls }) => calls > 0) ? (
          <Charts slots={slots} slotMs={slotMs} nowMs={state.now} />
        ) : (
          <p class="muted">No call reached it.</p>
        )}
      </section>
    </>
  )
}

/** A server: its state, its last messages, and the actions on it. */
export const ServerPage = ({ state, name }: { readonly state: PageState; readonly name: string }) => {
  const server = state.servers?.servers.find(one => one.name === name)
  if (state.servers === undefined) return <p class="muted">Loading …</p>
  if (server === undefined)
    return (
      <>
        <Path view="servers" title="Servers" />
        <Empty title={`No server is called ${name}`}>
          <WhyOf query={name} />
        </Empty>
      </>
    )
  const isRunning = isOn(server)
  return (
    <>
      <Path view="servers" title="Servers" />
      <div class="head-row">
        <h2 class="name">{name}</h2>
        <Actions server={server} />
      </div>
      <ProblemList all={problemsOf(state.servers, name)} isOwn />
      {isRunning ? (
        <RunningServer server={server} state={state} slotMs={state.servers.slotMs} />
      ) : (
        server.line !== undefined && <p class="muted">Configured at {placeOf(server, state)}</p>
      )}
      <Latest state={state} name={name} />
      {isRunning && <ToolSwitches key={name} server={name} stamp={stampOf(server, state)} />}
      <section aria-labelledby="log">
        <h3 id="log">Log</h3>
        <Log key={name} server={name} last={isRunning ? (server.stderr ?? []) : []} />
      </section>
    </>
  )
}
