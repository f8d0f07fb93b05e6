import { fileURLToPath } from 'node:url'
import { cause } from '../../diagnostics/explain.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import type { ClientProgram } from '../../setup/clients/clients.js'
import type { Plan, Planned } from '../../setup/import/plan.js'
import { projectsText, type Source } from '../../setup/import/sources.js'
import type { InstallPlace, PlannedInstall } from '../../setup/install/install.js'
import { readUsable } from '../shared/configuration.js'
import { choose, confirm, isInteractive } from '../shared/output/ask.js'
import { count, oneLineText, print, printToStderr, shortPath } from '../shared/output/output.js'
import { mark } from '../shared/output/terminal.js'
import { wrapped, wrappedText } from '../shared/output/wrap.js'
import { ownScripts, setupFiles } from '../shared/setup-files.js'
import { permanentShim } from '../shared/stable-paths.js'
import {
  CliError,
  causeError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  textsOption,
  type VerbArguments,
} from '../shared/verb.js'
import { type StartVerdict, stayLines, UNCHOSEN } from './client-moves.js'
import {
  type ClientPlan,
  type ClientsWish,
  clientLine,
  planClients,
  replanned,
  withAll,
  withRules,
  writeClientViews,
} from './client-plans.js'
import { attempt, editable } from './editable-clients.js'
import { type Findings, findServers, foundParts, QUIET_SOURCES } from './finding.js'
import { type Started, startOnce, verdictOn } from './first-start.js'
import {
  changeLines,
  initDocumentOf,
  initOutcomeOf,
  newIn,
  nextStep,
  printDiff,
  printSummary,
  printToolCaps,
  secretOwners,
} from './init-report.js'
import { askDoubtful, askInput, inputTexts } from './inputs.js'
import {
  type Context,
  clientsNamed,
  clientsThere,
  installPlaceOf,
  openContext,
  readBack,
} from './installing.js'
import { type Interrupts, interruptible } from './interrupts.js'
import { offerLogins } from './sign-ins.js'

const flags = {
  config: configOption,
  from: textsOption('Only servers of these clients, such as cursor; else of all that are found'),
  install: textsOption('Only into these clients; else into all that are found'),
  'dry-run': { type: 'boolean', describe: 'Show the changes without writing them' },
  yes: { type: 'boolean', describe: 'Accept everything and write without asking' },
  json: jsonOption,
} as const

type Args = VerbArguments<typeof flags>

export const init = defineVerb({
  usage: 'init',
  describe: 'Replace the servers in your clients with one proxy; shows every change, and can be undone',
  flags,
  examples: [
    ['mcp-proxy init', 'Asks three questions; Enter answers each with yes'],
    ['mcp-proxy init --dry-run', 'Shows each file and its changes'],
    ['mcp-proxy init --yes --from cursor --install cursor --install claude-code', 'Without questions'],
  ],
  async run(args) {
    clientsNamed([...(args.from ?? []), ...(args.install ?? [])])
    return await interruptible('mcp-proxy init', interrupts => setUp(args, interrupts))
  },
})

const setUp = async (args: Args, interrupts: Interrupts): Promise<number> => {
  const isAsking = isInteractive() && args.yes !== true && args.dryRun !== true
  const found = await findServers(args.config, args.from)
  printFound(found)
  const wanted = await chooseServers(found, isAsking)
  if (args.dryRun === true) return await rehearse(args, found, await planServers(found, wanted, false))
  if (!isAsking && args.yes !== true) throw unasked()
  // Runs before any key is typed, which a failure would lose.
  const shim = await interrupts.unlessStopped(permanentShim(args.yes === true))
  const plan = await planServers(found, wanted, isAsking)
  interrupts.check()
  await writeServers(found, plan, interrupts)
  const started = await startServers(args.config, isAsking, interrupts)
  const context = await openContext(args.config, shim)
  const clients = await clientsFor(args, context)
  const able = await editable(clients, context)
  const wish = wishOf(args, found, plan, verdictOn(started))
  const planned = await planClients(await placesOf(able, context), context, wish)
  const chosen = await chooseClients(planned, context, isAsking)
  interrupts.check()
  const work = await withRules(chosen, context, { config: args.config, isAsking, wrote: interrupts.wrote })
  const code = await replaceIn(work, context, interrupts)
  await printToolCaps(args.config, work, started)
  printSummary(found, work)
  if (args.json === true) print(initDocumentOf({ found, plan, started, work }))
  return able.length < clients.length ? Math.max(code, EXIT.failure) : code
}

const wishOf = ({ install }: Args, found: Findings, plan: Plan, verdict: StartVerdict): ClientsWish => {
  const fresh = new Set(newIn(plan).map(({ as }) => as))
  const offered = new Set(newIn(found.plan).map(({ as }) => as))
  return {
    named: install ?? [],
    found: found.plan.servers.flatMap(({ as, entry }) =>
      entry === undefined && as !== undefined ? [as] : [],
    ),
    fresh,
    verdict: (as, isNew) => (offered.has(as) && !fresh.has(as) ? UNCHOSEN : verdict(as, isNew)),
  }
}

const unasked = (): CliError => causeError(EXIT.usage, cause('cli.init-without-yes', {}))

const printFound = (found: Findings): void => {
  for (const problem of found.problems) printToStderr(problem.message)
  const same = found.plan.servers.filter(({ state }) => state === 'same').length
  const parts = foundParts(found)
  const more = same > 0 ? ` (${same} the same)` : ''
  const last = `${parts.at(-1) ?? 'no servers in the files of clients'}${more}`
  const [first, ...others] = [...parts.slice(0, -1), last]
  printToStderr(wrapped([`Found  ${first}`, ...others], { separator: ' · ' }))
  for (const each of found.projects) printToStderr(wrappedText(projectsText(each)))
}

/** Returns the chosen servers that our file lacks. */
const chooseServers = async ({ plan }: Findings, isAsking: boolean): Promise<ReadonlySet<string>> => {
  const items = newIn(plan)
  const labelOf = ({ as }: { readonly as: string }): string => oneLineText(as)
  const all =
    isAsking && items.length > 0
      ? await choose({ title: 'Servers', items, labelOf, question: 'Add all to the proxy?' })
      : items
  if (!isAsking && items.length > 0)
    printToStderr(wrapped(['Servers', ...items.map(labelOf)], { separator: '  ' }))
  return new Set(all.map(({ as }) => as))
}

/** Plans the chosen servers once their secrets' destination is known. */
const planServers = async (
  { own, sources, plan: { servers: planned } }: Findings,
  chosen: ReadonlySet<string>,
  isAsking: boolean,
): Promise<Plan> => {
  const { planImport } = await import('../../setup/import/plan.js')
  const wanted = chosenOf(sources, planned, chosen)
  const options = { ...QUIET_SOURCES, scripts: ownScripts() }
  const all = await planImport(own, wanted, options)
  // On a terminal, possible secrets get a separate question.
  const moved = isAsking ? await planImport(own, wanted, { ...options, isSecret: () => false }) : all
  const file = shortPath(own.secrets.path)
  const question = `Move ${secretOwners(moved).join(', ')} to ${file}`
  if (moved.secrets.size > 0 && !isAsking) printToStderr(wrappedText(question))
  const keepsSecrets = isAsking && moved.secrets.size > 0 && !(await confirm(`${question}?`))
  const settings = isAsking && !keepsSecrets ? await askDoubtful(all, file) : new Set()
  let texts: ReadonlyMap<string, string> | undefined
  const askSecret = async (name: string, server: string): Promise<string | undefined> => {
    if (!isAsking) return undefined
    texts ??= await inputTexts(sources)
    return await askInput(name, server, texts.get(name))
  }
  const isSecret = (value: string): boolean => !settings.has(value)
  return await planImport(own, wanted, { ...options, keepsSecrets, askSecret, isSecret })
}

/** Returns the sources without unchosen servers. Each server was planned, in this order. */
const chosenOf = (
  sources: readonly Source[],
  planned: readonly Planned[],
  chosen: ReadonlySet<string>,
): readonly Source[] => {
  let at = 0
  return sources.map(source => {
    const found = source.found.filter(() => {
      const { as = '' } = planned[at] ?? {}
      at += 1
      return chosen.has(as)
    })
    return { ...source, found }
  })
}

/** Writes the servers; creates a configuration even without servers, so that the user can add some. */
const writeServers = async ({ own }: Findings, plan: Plan, { wrote }: Interrupts): Promise<void> => {
  const [{ files }, { writeOwnFile, writeEmptyFile }] = await Promise.all([
    setupFiles(),
    import('../../setup/own-file.js'),
  ])
  const changes = newIn(plan).map(({ as, entry }) => ({ at: [], name: as, value: entry }))
  printNotes(plan)
  if (changes.length > 0) await writeOwnFile(files, own, changes, plan.secrets)
  else await writeEmptyFile(files, own)
  if (plan.secrets.size > 0) wrote(own.secrets.path)
  const { bytes, path } = own.file.state
  if (changes.length > 0 || bytes === undefined) wrote(path)
  printToStderr(wrappedText(`${mark(true)} ${initOutcomeOf(own, changes.length)}`))
}

/** Prints the settings of each server that do not move, before anything is written. */
const printNotes = (plan: Plan): void => {
  for (const { as, notes } of newIn(plan))
    for (const note of new Set(notes))
      printToStderr(wrappedText(`  ${oneLineText(as)}: ${oneLineText(note)}`))
}

/** Starts all servers of our file once. If the user signs in, starts the servers that required it again. */
const startServers = async (
  config: string | undefined,
  isAsking: boolean,
  interrupts: Interrupts,
): Promise<readonly Started[]> => {
  try {
    const { config: loaded } = await readUsable(config)
    const started = await startOnce(loaded, interrupts.stopped)
    if (!isAsking) return started
    const signedIn = await offerLogins(started, config, interrupts)
    if (signedIn.size === 0) return started
    const servers = loaded.servers.filter(({ name }) => signedIn.has(name))
    const again = await startOnce({ ...loaded, servers, waiting: [] }, interrupts.stopped)
    return started.map(each => again.find(({ name }) => name === each.name) ?? each)
  } catch (thrown) {
    if (!(thrown instanceof CliError) || thrown.code !== EXIT.configuration) throw thrown
    printToStderr(`${mark(false)} ${thrown.message}; fix: ${thrown.fix ?? 'mcp-proxy check'}`)
    return []
  }
}

const placesOf = async (
  clients: readonly ClientProgram[],
  context: Context,
): Promise<readonly InstallPlace[]> =>
  await Promise.all(clients.map(client => installPlaceOf(client, 'user', context)))

const clientsFor = async ({ install }: Args, context: Context): Promise<readonly ClientProgram[]> =>
  install === undefined ? await clientsThere(context) : clientsNamed(install)

/** Shows the changes of client files and the servers that stay, and asks which files may change. */
const chooseClients = async (
  planned: readonly ClientPlan[],
  context: Context,
  isAsking: boolean,
): Promise<readonly ClientPlan[]> => {
  for (const each of planned)
    for (const line of stayLines({
      ...each,
      stays: each.stays.filter(({ isUnchosen }) => isUnchosen !== true),
    }))
      printToStderr(line)
  const items = planned.filter(({ plan }) => plan.changes.length > 0)
  if (items.length === 0) return planned
  if (!isAsking) {
    for (const each of items) printToStderr(wrappedText(`  ${clientLine(each)}`, { indent: '    ' }))
    return planned
  }
  const question = 'Replace the servers in these clients with the proxy?'
  const diff = (): void => printDiff(items)
  let isShared = false as boolean
  const share = (): void => {
    isShared = true
    printToStderr('  all of these clients get all servers')
  }
  const isScoped = items.length > 1 && items.some(({ view }) => view !== undefined)
  if (isScoped) printToStderr(wrappedText('Each client keeps only the servers that it has now.'))
  const kept = await choose({
    ...{ title: 'Clients', items, labelOf: clientLine, question },
    others: [
      ['d', 'for the diff', diff],
      ...(isScoped ? [['a', 'to offer all servers to all', share] as const] : []),
    ],
  })
  if (kept.length === items.length && !isShared) return planned
  return await replanned(isShared ? kept.map(withAll) : kept, context)
}

/** Writes views and client entries. Resolves with the exit code. */
const replaceIn = async (
  work: readonly ClientPlan[],
  context: Context,
  { check, wrote }: Interrupts,
): Promise<number> => {
  check()
  if (await writeClientViews(work, context)) wrote(context.ownFile.file.state.path)
  const done: PlannedInstall[] = []
  for (const { plan, moved } of work) {
    const { client } = plan.place
    check()
    if (!(await attempt(client, plan.carryOut))) continue
    if (plan.changes.length > 0) wrote(plan.path)
    done.push(plan)
    const { label, id } = client
    const what = moved.length === 0 ? 'has the proxy' : `${count(moved.length, 'server')} → 1 entry`
    if (plan.changes.length > 0)
      printToStderr(`${mark(true)} ${label}: ${what} (undo: mcp-proxy install ${id} --undo)`)
  }
  const todo = done.filter(({ changes }) => changes.length > 0)
  const code = done.length < work.length ? EXIT.failure : EXIT.ok
  if (todo.length > 0) return Math.max(code, await readBack(todo))
  printToStderr(`no client was changed; ${nextStep(work)}`)
  return code
}

/** Prints all changes without making them. */
const rehearse = async (args: Args, found: Findings, plan: Plan): Promise<number> => {
  const context = await openContext(args.config, fileURLToPath(packageFile('bin/connect.cjs')))
  const able = await editable(await clientsFor(args, context), context)
  const wish = wishOf(args, found, plan, () => undefined)
  const work = await planClients(await placesOf(able, context), context, wish)
  printNotes(plan)
  for (const each of work) for (const line of stayLines(each)) printToStderr(line)
  if (args.json === true) print(initDocumentOf({ found, plan, started: [], work }))
  else for (const line of changeLines({ found, plan, work })) print(line)
  printToStderr('nothing was written')
  return EXIT.ok
}
