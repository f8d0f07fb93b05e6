import { cause, explain } from '../../diagnostics/explain.js'
import type { Plan, Planned } from '../../setup/import/plan.js'
import { projectsText } from '../../setup/import/sources.js'
import type { OwnFile } from '../../setup/own-file.js'
import { readUsable } from '../shared/configuration.js'
import { count, oneLineText, printToStderr, shortPath } from '../shared/output/output.js'
import { wrapped, wrappedText } from '../shared/output/wrap.js'
import type { ClientPlan } from './client-plans.js'
import { type Findings, foundCount } from './finding.js'
import { problemText, type Started } from './first-start.js'

/** Returns the servers that our file lacks, each with its name there. */
export const newIn = ({ servers }: Plan): readonly (Planned & { readonly as: string })[] =>
  servers.flatMap(each =>
    each.entry === undefined || each.as === undefined ? [] : [{ ...each, as: each.as }],
  )

/** Summarises an import's effect on our file. */
export const initOutcomeOf = ({ file: { state }, servers }: OwnFile, added: number): string => {
  const path = shortPath(state.path)
  if (added > 0) return `${count(added, 'new server')}, written to ${path}`
  if (state.bytes === undefined) return `no servers yet; created ${path}`
  return `nothing new to import: ${path} has ${servers.size === 0 ? 'no servers yet' : count(servers.size, 'server')}`
}

/** Formats secret names with their server and client, such as `API_KEY (search, Windsurf)`. */
export const secretOwners = ({ servers, secrets }: Plan): readonly string[] =>
  [...secrets.keys()].map(name => {
    const owner = servers.find(each => each.secrets.includes(name))
    return owner === undefined ? name : `${name} (${oneLineText(owner.as ?? owner.name)}, ${owner.from})`
  })

/** Prints which clients accept fewer tools than they have now, and the tools that they see instead. */
export const printToolCaps = async (
  config: string | undefined,
  work: readonly ClientPlan[],
  started: readonly Started[],
): Promise<void> => {
  if (started.every(({ tools = 0 }) => tools === 0)) return
  const { rulesOf } = await import('../../search/expose-rules.js')
  const rulesFor = rulesOf((await readUsable(config)).config)
  for (const { plan, view } of work) {
    const { id, label: client } = plan.place.client
    const seen = started.filter(({ name }) => view?.without.includes(name) !== true)
    const tools = seen.reduce((sum, each) => sum + (each.tools ?? 0), 0)
    const { cap, mode } = rulesFor(id, '')
    if (tools <= cap || mode === 'search') continue
    const instead = `${client} accepts ${cap} tools and you have ${tools}, so it sees search tools (find_tools) instead`
    if (mode === 'auto') printToStderr(wrappedText(instead))
    else printToStderr(wrappedText(`! ${problemText(explain(cause('D056', { count: tools, client, cap })))}`))
  }
}

/** Prints the changes of each client's file; long values break between members and after folders. */
export const printDiff = (plans: readonly ClientPlan[]): void => {
  for (const { plan } of plans) {
    printToStderr(`  ${shortPath(plan.path)}`)
    const layout = { separator: '', indent: '      ' }
    for (const line of plan.lines) printToStderr(wrapped(`    ${line}`.split(/(?<=[,/] ?)/), layout))
  }
}

/** Prints the summary: servers found, servers moved, and servers left with reasons. */
export const printSummary = (found: Findings, work: readonly ClientPlan[]): void => {
  const total = foundCount(found)
  const moved = [...new Set(work.flatMap(each => each.moved.map(({ as }) => oneLineText(as))))]
  const which = moved.length === 0 ? '' : `: ${moved.join(', ')}`
  printToStderr(
    wrappedText(`Found ${count(total, 'server')}, moved ${moved.length} behind the proxy${which}`),
  )
  const stays = work.flatMap(each =>
    each.stays.map(stay => ({ ...stay, client: each.plan.place.client.label })),
  )
  const left = stays.flatMap(({ name, client, why, isUnchosen }) =>
    isUnchosen === true ? [] : [`  left ${oneLineText(name)} in ${client}: ${why}`],
  )
  const unchosen = stays
    .filter(({ isUnchosen }) => isUnchosen === true)
    .map(({ name, client }) => `${oneLineText(name)} (${client})`)
  const lines = unchosen.length === 0 ? left : [...left, `  not chosen: ${unchosen.join(', ')}`]
  for (const line of lines) printToStderr(wrappedText(line, { indent: '    ' }))
  for (const each of found.projects) printToStderr(wrappedText(`  ${projectsText(each)}`, { indent: '    ' }))
  if (left.length > 0)
    printToStderr(wrappedText('When these work, run mcp-proxy init again: it moves what is new.'))
}

interface Done {
  readonly found: Findings
  readonly plan: Plan
  readonly started: readonly Started[]
  readonly work: readonly ClientPlan[]
}

/** The next step where no client was changed. */
export const nextStep = (work: readonly ClientPlan[]): string => {
  const isEverywhere = work.length > 0 && work.every(({ install }) => install !== undefined)
  return isEverywhere ? 'all have the proxy' : 'to add the proxy to a client: mcp-proxy install CLIENT'
}

/** Returns the lines that a dry run would add or change, with their files. */
export const changeLines = ({ found, plan, work }: Omit<Done, 'started'>): readonly string[] => {
  const { path } = found.own.file.state
  return [
    ...newIn(plan).map(({ as, from }) => `${path}  + ${oneLineText(as)} from ${from}`),
    ...work.flatMap(({ plan: each }) => each.lines.map(line => `${each.path}  ${line}`)),
  ]
}

/** Formats the result as JSON. */
export const initDocumentOf = ({ found, plan, started, work }: Done): string =>
  JSON.stringify({
    version: 1,
    file: found.own.file.state.path,
    servers: newIn(plan).map(({ as, from }) => ({ name: as, from })),
    secrets: { file: found.own.secrets.path, names: [...plan.secrets.keys()] },
    started,
    clients: work.map(({ plan: { place, path, lines }, moved, stays, view }) => ({
      client: place.client.id,
      file: path,
      lines,
      moved: moved.map(({ name, as }) => ({ name, as })),
      left: stays.map(({ name, why }) => ({ name, why })),
      view: view?.name,
    })),
    projects: found.projects,
  })
