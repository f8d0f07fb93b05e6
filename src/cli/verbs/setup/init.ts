import { fileURLToPath } from 'node:url'
import { packageFile } from '../../../machine/package-file.js'
import { problem } from '../../../problems/problem.js'
import type { Client } from '../../../setup/clients/clients.js'
import type { Plan, Planned } from '../../../setup/import/plan.js'
import type { Source } from '../../../setup/import/sources.js'
import type { PlannedInstall } from '../../../setup/install/install.js'
import { SetupError } from '../../../setup/setup-error.js'
import { readUsable } from '../../configuration.js'
import { ask, choose, confirm, isInteractive } from '../../output/ask.js'
import { mark } from '../../output/look.js'
import { count, print, say, shortPath } from '../../output/output.js'
import { type Findings, findServers, foundParts, SILENT } from '../../setup/finding.js'
import { problemWords, type Started, startOnce } from '../../setup/first-start.js'
import {
  type Context,
  clientsNamed,
  clientsThere,
  entryOf,
  inTurn,
  openContext,
  placeOf,
  readBack,
  usualTerms,
} from '../../setup/installing.js'
import { type Interrupts, interruptible } from '../../setup/interrupts.js'
import { lastingShim } from '../../setup/lasting.js'
import { ownScripts, setupFiles } from '../../setup/setup-files.js'
import {
  CliError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  textsOption,
  type VerbArguments,
} from '../../verb.js'
import { planTakeOver } from './take-over.js'

const flags = {
  config: configOption,
  from: textsOption('Only servers of these clients, such as cursor; else of all that are found'),
  install: textsOption('Only into these clients; else into all that are found'),
  'dry-run': { type: 'boolean', describe: 'Show what would be done, and do nothing' },
  yes: { type: 'boolean', describe: 'Take all, and write without asking' },
  json: jsonOption,
} as const

type Args = VerbArguments<typeof flags>

export const init = defineVerb({
  usage: 'init',
  describe: 'Put one proxy in place of the servers that your clients have: found, shown, asked, undoable',
  flags,
  examples: [
    ['mcp-proxy init', 'Asks three questions; Enter answers each with yes'],
    ['mcp-proxy init --dry-run', 'Shows what would be written where'],
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
  sayFound(found)
  const chosen = await chooseServers(found, isAsking)
  const plan = await planServers(found, chosen, isAsking)
  if (args.dryRun === true) return await rehearse(args, found, plan)
  if (!isAsking && args.yes !== true) throw unasked()
  const shim = await lastingShim(args.yes === true)
  interrupts.check()
  await writeServers(found, plan, interrupts)
  const started = await startServers(args.config, interrupts)
  const context = await openContext(args.config, shim)
  const clients = await clientsFor(args, context)
  const able = await editable(clients, context)
  const work = await chooseClients(able, context, isAsking)
  const code = Math.max(
    await installInto(work, interrupts),
    able.length < clients.length ? EXIT.failure : EXIT.ok,
  )
  await sayCaps(args.config, work, started)
  if (args.json === true) print(documentOf({ found, plan, started, work }))
  return code
}

const unasked = (): CliError =>
  new CliError(EXIT.usage, 'nothing was written: this needs --yes where nobody can be asked', {
    why: 'files are changed only by those who were shown what changes',
    mend: 'mcp-proxy init --yes',
  })

const sayFound = (found: Findings): void => {
  for (const problem of found.problems) say(problem.message)
  const same = found.plan.servers.filter(({ state }) => state === 'same').length
  const parts = foundParts(found).join(' · ')
  say(`Found  ${parts || 'no servers in the files of clients'}${same > 0 ? ` (${same} the same)` : ''}`)
}

/** The servers that are new to us, as far as they are wanted. */
const chooseServers = async ({ plan }: Findings, isAsking: boolean): Promise<ReadonlySet<string>> => {
  const items = newIn(plan)
  const all =
    isAsking && items.length > 0
      ? await choose({ title: 'Servers', items, labelOf: ({ as }) => as, question: 'all?' })
      : items
  if (!isAsking && items.length > 0) say(`Servers  ${items.map(({ as }) => as).join('  ')}`)
  return new Set(all.map(({ as }) => as))
}

const newIn = ({ servers }: Plan): readonly (Planned & { readonly as: string })[] =>
  servers.flatMap(each =>
    each.entry === undefined || each.as === undefined ? [] : [{ ...each, as: each.as }],
  )

/** What is written for the servers that were chosen, once it is known where their secrets go. */
const planServers = async (
  { own, sources, plan: all }: Findings,
  chosen: ReadonlySet<string>,
  isAsking: boolean,
): Promise<Plan> => {
  const { planImport } = await import('../../../setup/import/plan.js')
  const wanted = chosenOf(sources, all.servers, chosen)
  const options = { ...SILENT, scripts: ownScripts() }
  const moved = await planImport(own, wanted, options)
  const names = [...moved.secrets.keys()]
  const words = `Secrets  ${names.join(', ')} → ${shortPath(own.secrets.path)}`
  if (names.length > 0) say(words)
  const keepsSecrets = isAsking && names.length > 0 && !(await confirm('  move?'))
  const askSecret = async (name: string, server: string): Promise<string | undefined> =>
    isAsking ? await ask(`${name} for ${server}: `, true) : undefined
  return await planImport(own, wanted, { ...options, keepsSecrets, askSecret })
}

/** The sources without the servers that are not wanted; each was planned, in this order. */
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

/** Also makes a configuration without servers, to which some can be added. */
const writeServers = async ({ own }: Findings, plan: Plan, { wrote }: Interrupts): Promise<void> => {
  const [{ files }, { writeOwnFile, writeEmptyFile }] = await Promise.all([
    setupFiles(),
    import('../../../setup/own-file.js'),
  ])
  const changes = newIn(plan).map(({ as, entry }) => ({ at: [], name: as, value: entry }))
  if (changes.length > 0) await writeOwnFile(files, own, changes, plan.secrets)
  else await writeEmptyFile(files, own)
  if (plan.secrets.size > 0) wrote(own.secrets.path)
  if (changes.length > 0 || own.file.state.bytes === undefined) wrote(own.file.state.path)
  for (const { as, notes } of newIn(plan)) for (const note of new Set(notes)) say(`  ${as}: ${note}`)
  const { bytes } = own.file.state
  const path = shortPath(own.file.state.path)
  const isKept = changes.length === 0 && bytes !== undefined
  say(
    `${mark(true)} ${count(changes.length, 'new server')}${isKept ? ` for ${path}` : `, written to ${path}`}`,
  )
}

const startServers = async (
  config: string | undefined,
  { stopped }: Interrupts,
): Promise<readonly Started[]> => {
  try {
    return await startOnce((await readUsable(config)).config, stopped)
  } catch (thrown) {
    if (!(thrown instanceof CliError) || thrown.code !== EXIT.configuration) throw thrown
    say(`${mark(false)} ${thrown.message}; mend: ${thrown.mend ?? 'mcp-proxy check'}`)
    return []
  }
}

const clientsFor = async ({ install }: Args, context: Context): Promise<readonly Client[]> => {
  if (install !== undefined) return clientsNamed(install)
  const there = await clientsThere(context)
  const installed = new Set((await context.journals.all()).map(({ client }) => client))
  return there.filter(({ id }) => !installed.has(id))
}

/** Does the work for one client; a file of which that cannot be done keeps no others from theirs. */
const attempt = async ({ label }: Client, work: () => Promise<unknown>): Promise<boolean> => {
  try {
    await work()
    return true
  } catch (thrown) {
    if (!(thrown instanceof SetupError)) throw thrown
    say(`${mark(false)} ${label}: ${thrown.message}; mend: ${thrown.mend}`)
    return false
  }
}

/** The clients whose files can be edited; of each other one it is said why not. */
const editable = async (clients: readonly Client[], context: Context): Promise<readonly Client[]> => {
  const able: Client[] = []
  for (const client of clients) {
    if (await attempt(client, () => planClients([client], context, 'all'))) able.push(client)
  }
  return able
}

/** Shows what would change in the files of clients, and asks in which it shall. */
const chooseClients = async (
  clients: readonly Client[],
  context: Context,
  isAsking: boolean,
): Promise<readonly PlannedInstall[]> => {
  const all = await planClients(clients, context, 'known')
  for (const { path, lines } of all) for (const line of lines) say(`  ${shortPath(path)}  ${line}`)
  if (all.length === 0 || !isAsking) return all
  const question = 'put the proxy in place of their servers?'
  const items = await choose({ title: 'Clients', items: clients, labelOf: ({ label }) => label, question })
  return items.length === clients.length ? all : await planClients(items, context, 'known')
}

/** Our entry in place of the servers of these clients that we have, or of all of them. */
const planClients = async (
  clients: readonly Client[],
  context: Context,
  gone: 'known' | 'all',
): Promise<readonly PlannedInstall[]> => {
  const { planInstall } = await import('../../../setup/install/install.js')
  const terms = usualTerms(context)
  const places = await Promise.all(clients.map(client => placeOf(client, 'user', context)))
  const { known, namesIn } = await planTakeOver(places, context, false, () => undefined)
  const plans = places.map(place => async () => {
    const entry = await entryOf(place.client, terms, context.programs)
    const takes = gone === 'known' ? known(place.file) : namesIn(place.file)
    return await planInstall(context, place, { entry, terms, takes })
  })
  return await inTurn(plans)
}

const installInto = async (
  work: readonly PlannedInstall[],
  { check, wrote }: Interrupts,
): Promise<number> => {
  const done: PlannedInstall[] = []
  for (const plan of work) {
    const { client } = plan.place
    check()
    if (!(await attempt(client, plan.carryOut))) continue
    if (plan.changes.length > 0) wrote(plan.path)
    done.push(plan)
    const { label, id } = client
    const gone = plan.changes.filter(({ value }) => value === undefined).length
    const what = gone === 0 ? 'has the proxy' : `${count(gone, 'server')} → 1 entry`
    say(`${mark(true)} ${label}: ${what} (undo: mcp-proxy install ${id} --undo)`)
  }
  const todo = done.filter(({ changes }) => changes.length > 0)
  const code = done.length < work.length ? EXIT.failure : EXIT.ok
  if (todo.length > 0) return Math.max(code, await readBack(todo))
  say('no client was changed; one gets the proxy with: mcp-proxy install CLIENT')
  return code
}

/** Which of the clients will not see all tools, and what becomes of that. */
const sayCaps = async (
  config: string | undefined,
  work: readonly PlannedInstall[],
  started: readonly Started[],
): Promise<void> => {
  const tools = started.reduce((sum, each) => sum + (each.tools ?? 0), 0)
  if (tools === 0) return
  const { rulesOf } = await import('../../../budget/expose-rules.js')
  const rulesFor = rulesOf((await readUsable(config)).config)
  for (const { place } of work) {
    const { id, label: client } = place.client
    const { cap, mode } = rulesFor(id, '')
    if (tools <= cap || mode === 'search') continue
    if (mode === 'auto')
      say(`${client} sends ${cap} tools at most, you have ${tools}: it gets search (find_tools)`)
    else say(`! ${problemWords(problem('D056', { count: tools, client, cap }))}`)
  }
}

/** Shows all that would be done. */
const rehearse = async (args: Args, found: Findings, plan: Plan): Promise<number> => {
  const context = await openContext(args.config, fileURLToPath(packageFile('bin/connect.cjs')))
  const able = await editable(await clientsFor(args, context), context)
  const work = await planClients(able, context, 'all')
  if (args.json === true) print(documentOf({ found, plan, started: [], work }))
  else {
    for (const { as, from } of newIn(plan)) print(`${found.own.file.state.path}  + ${as} from ${from}`)
    for (const { path, lines } of work) for (const line of lines) print(`${path}  ${line}`)
  }
  say('nothing was written')
  return EXIT.ok
}

interface Done {
  readonly found: Findings
  readonly plan: Plan
  readonly started: readonly Started[]
  readonly work: readonly PlannedInstall[]
}

const documentOf = ({ found, plan, started, work }: Done): string =>
  JSON.stringify({
    version: 1,
    file: found.own.file.state.path,
    servers: newIn(plan).map(({ as, from }) => ({ name: as, from })),
    secrets: { file: found.own.secrets.path, names: [...plan.secrets.keys()] },
    started,
    clients: work.map(({ place, path, lines }) => ({ client: place.client.id, file: path, lines })),
  })
