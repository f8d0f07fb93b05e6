import { change } from '../live/api.js'
import { hrefOf } from '../live/route.js'
import { type AnyServer, isOn, type PageState, problemsOf, type ServerRow, stateMsOf } from '../live/state.js'
import { Action } from '../parts/dialog.js'
import { type Fact, FactList } from '../parts/facts.js'
import { age, bytes, countText, many, ms } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { Sparkline } from '../parts/sparkline.js'
import { Empty, Path } from '../parts/text.js'
import { WhyOf } from '../parts/why.js'
import { ToolSwitches } from '../tools/switches.js'
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

const factsOf = (server: ServerRow, state: PageState): readonly Fact[] => {
  const lists = listText(server)
  const hasTools = (server.items?.tools ?? 0) > 0
  return [
    [
      'State',
      <>
        <Lamp word={server.state} />
        {server.connections > 0 && <span class="muted"> for {age(stateMsOf(server, state))}</span>}
      </>,
    ],
    ['Transport', server.transport],
    ['Revision', server.revision ?? '–'],
    ...(server.url === undefined ? [] : [['Address', server.url] as const]),
    ['Processes', server.pids.length === 0 ? '–' : `${server.pids.join(', ')} · ${bytes(server.rssBytes)}`],
    ['Lists', hasTools ? <a href={hrefOf('tools', '', server.name)}>{lists}</a> : lists],
    ['Left out', leftOutText(server) || undefined],
    ['Hidden tools', hiddenText(server) || undefined],
    ['Last error', server.lastError && `${server.lastError.message} (${age(server.lastError.agoMs)} ago)`],
    ['Clients', countText(server.clients)],
    ['In flight', countText(server.inFlight)],
    ['p50, p99', server.p50Ms === undefined ? '–' : `${ms(server.p50Ms)}, ${ms(server.p99Ms)}`],
    ['Last 10 minutes', <Sparkline slots={server.slots} />],
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
      {isRunning && (
        <section aria-labelledby="facts">
          <h3 id="facts">Facts</h3>
          <FactList all={factsOf(server, state)} />
        </section>
      )}
      {isRunning && server.lastFault !== undefined && (
        <p class="muted">
          Last error of a client: <a href={hrefOf('errors', server.lastFault.id)}>{server.lastFault.id}</a>,{' '}
          {server.lastFault.message}
        </p>
      )}
      {isRunning && <ToolSwitches key={name} server={name} stamp={stampOf(server, state)} />}
      <section aria-labelledby="log">
        <h3 id="log">Log</h3>
        <Log key={name} server={name} last={isRunning ? (server.stderr ?? []) : []} />
      </section>
    </>
  )
}
