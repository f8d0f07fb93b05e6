import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageFile } from '../../kernel/machine/package-file.js'
import { serverOfView, serverViewName } from '../../kernel/server-view.js'
import { CLIENTS, type ClientProgram } from '../../setup/clients/clients.js'
import type { InstallPlace, PlannedInstall } from '../../setup/install/install.js'
import type { Terms } from '../../setup/install/journal.js'
import { confirm, isInteractive } from '../shared/output/ask.js'
import { print, printToStderr } from '../shared/output/output.js'
import { wrappedText } from '../shared/output/wrap.js'
import { permanentShim } from '../shared/stable-paths.js'
import {
  CliError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  textOption,
  type VerbArguments,
} from '../shared/verb.js'
import type { TakeOver } from './client-moves.js'
import { filesWithRules, removeAddedRules } from './client-rules.js'
import {
  type Context,
  clientsNamed,
  clientsThere,
  entryOf,
  installPlaceOf,
  oneByOne,
  openContext,
  placesToUndoOf,
  readBack,
} from './installing.js'

const flags = {
  config: configOption,
  undo: { type: 'boolean', describe: 'Remove the entry of this proxy and restore the file' },
  scope: {
    choices: ['user', 'project'],
    default: 'user',
    requiresArg: true,
    describe: 'Write the file of the user, or the shared file of the project in the current folder',
  },
  via: {
    choices: ['stdio', 'http'],
    default: 'stdio',
    requiresArg: true,
    describe: 'Have the client start a shim for the shared daemon (stdio) or call a running proxy (http)',
  },
  url: textOption('For --via http: the address; overrides the configuration'),
  view: textOption('The view that the client gets; else it keeps the one that it has'),
  server: textOption('Only this server, under its own names'),
  'take-over': {
    type: 'boolean',
    describe: 'Import the servers of the client and remove them from its file',
  },
  print: { type: 'boolean', describe: 'Only print the entry' },
  file: textOption('Another file of the client than the usual one'),
  all: { type: 'boolean', describe: 'All clients whose files are found' },
  refresh: { type: 'boolean', describe: 'Rewrite all entries of this proxy with the current paths' },
  yes: { type: 'boolean', describe: 'Write without asking' },
  json: jsonOption,
} as const

const positionals = {
  clients: { type: 'string', array: true, describe: `Any of ${CLIENTS.map(({ id }) => id).join(', ')}` },
} as const

type Args = VerbArguments<typeof flags, typeof positionals>

export const install = defineVerb({
  usage: 'install [clients..]',
  describe: 'Add this proxy to the files of clients; shows each change, and can be undone',
  flags,
  positionals,
  examples: [
    ['mcp-proxy install cursor', 'Cursor starts a shim, which shares one daemon with all other clients'],
    ['mcp-proxy install claude-code --take-over', 'Its servers move behind the proxy'],
    ['mcp-proxy install cursor --undo', 'The file is what it was before, byte for byte'],
  ],
  async run(args) {
    const context = await contextOf(args)
    checkServer(args, context)
    if (args.print === true) return await printEntries(args, context)
    const planned = await planWork(args, context)
    show(args, planned.work, planned.takeOver)
    const ruleFiles = await rulesToRemove(args, planned)
    for (const path of ruleFiles)
      printToStderr(wrappedText(`also removes the permission rules that were added to ${path}`))
    const isTodo = planned.work.some(isChange) || isImport(planned) || ruleFiles.length > 0
    if (isTodo) await permit(args)
    if (needsConfiguration(args, planned)) await ensureConfiguration(context)
    const plans = await carriedOut(planned, isTodo)
    if (ruleFiles.length > 0) await removeAddedRules()
    if (isTodo) return await readBack(plans.filter(isChange), args.undo)
    printToStderr('nothing to do')
    return EXIT.ok
  },
})

/** Throws a CliError for an unknown server, or if the arguments contradict each other. */
const checkServer = ({ server, view, takeOver }: Args, { ownFile }: Context): void => {
  if (server === undefined) return
  if (view !== undefined || takeOver === true)
    throw new CliError(
      EXIT.usage,
      `--server cannot be combined with ${view === undefined ? '--take-over' : '--view'}`,
    )
  if (ownFile.servers.has(server)) return
  const names = [...ownFile.servers.keys()].join(', ')
  throw new CliError(EXIT.usage, `there is no server ${server}; there are: ${names || 'none'}`)
}

const isImport = ({ takeOver }: Work): boolean => (takeOver?.imported.length ?? 0) > 0

/** Returns the files with added rules to remove together with Claude Code's entry. */
const rulesToRemove = async ({ undo, scope }: Args, { work }: Work): Promise<readonly string[]> => {
  const isUndone =
    undo === true && scope === 'user' && work.some(({ place }) => place.client.id === 'claude-code')
  return isUndone ? await filesWithRules() : []
}

/** Imports write a configuration themselves, and project entries name none. */
const needsConfiguration = ({ undo, via, scope }: Args, planned: Work): boolean =>
  undo !== true && via === 'stdio' && scope === 'user' && planned.work.length > 0 && !isImport(planned)

/** Carries out the plans and resolves with them. */
const carriedOut = async ({ work, proven }: Work, isTodo: boolean): Promise<readonly PlannedInstall[]> => {
  const plans = isTodo && proven !== undefined ? await proven() : work
  for (const plan of plans) await plan.carryOut()
  return plans
}

const isChange = ({ changes }: PlannedInstall): boolean => changes.length > 0

/** Creates our configuration if needed: entries start a daemon that requires one. */
const ensureConfiguration = async ({ ownFile, files, programs: { config } }: Context): Promise<void> => {
  if (ownFile.file.state.bytes !== undefined) return
  const { writeEmptyFile } = await import('../../setup/own-file.js')
  await writeEmptyFile(files, ownFile)
  printToStderr(`created ${config} without servers; to add one: mcp-proxy add NAME -- COMMAND`)
}

interface Work {
  readonly work: readonly PlannedInstall[]
  readonly takeOver?: TakeOver | undefined
  /** Imports the servers and plans again, so that only servers that were seen to work move. */
  readonly proven?: () => Promise<readonly PlannedInstall[]>
}

const planWork = async (args: Args, context: Context): Promise<Work> =>
  args.refresh === true ? await planRefresh(context) : await planAll(args, context)

/** Plans an `install` with these arguments for `doctor --fix`. Rejects as the verb does. */
export const plannedInstalls = async (
  words: Pick<Args, 'config' | 'clients' | 'refresh'>,
): Promise<readonly PlannedInstall[]> => {
  const args = { ...words, scope: 'user', via: 'stdio' } as Args
  return (await planWork(args, await contextOf(args))).work
}

const contextOf = async (args: Args): Promise<Context> => {
  // Removing or showing entries needs no permanent program path.
  const isWriting = args.undo !== true && args.print !== true
  const connect = isWriting
    ? await permanentShim(args.yes === true)
    : fileURLToPath(packageFile('bin/connect.cjs'))
  return await openContext(args.config, connect, args.url)
}

const termsOf = (args: Args, { ownFile }: Context): Terms => ({
  via: args.via,
  url: args.url ?? ownFile.urls[0] ?? '',
  view: args.server === undefined ? args.view : serverViewName(args.server),
  project: args.scope === 'project' ? process.cwd() : undefined,
})

const clientsOf = async (args: Args, context: Context): Promise<readonly ClientProgram[]> => {
  const named = clientsNamed(args.clients ?? [])
  if (args.all === true) {
    const there = await clientsThere(context)
    if (args.undo !== true) return there
    const installed = new Set((await context.journals.all()).map(({ client }) => client))
    return CLIENTS.filter(client => there.includes(client) || installed.has(client.id))
  }
  if (named.length > 0) return named
  throw new CliError(EXIT.usage, 'which client? Name one, such as cursor, or give --all', {
    fix: 'mcp-proxy install --all',
  })
}

const printEntries = async (args: Args, context: Context): Promise<number> => {
  const [{ edit }, { parserOf }, { KEY }] = await Promise.all([
    import('../../setup/edit/change.js'),
    import('../../setup/files/edit-file.js'),
    import('../../setup/install/entry.js'),
  ])
  for (const client of await clientsOf(args, context)) {
    const value = await entryOf(client, termsOf(args, context), context.programs)
    const change = { at: client.at, isList: client.isList === true, name: KEY, value }
    print(edit(await parserOf(client.syntax), '', [change]).trimEnd())
  }
  return EXIT.ok
}

const planAll = async (args: Args, context: Context): Promise<Work> => {
  if (args.takeOver === true && args.scope === 'project') {
    throw new CliError(EXIT.usage, '--take-over requires --scope user: project files are shared by a team')
  }
  const clients = await clientsOf(args, context)
  if (args.file !== undefined && clients.length > 1)
    throw new CliError(EXIT.usage, '--file is for one client')
  const { file, scope } = args
  if (args.undo === true) return { work: await planUndos(args, clients, context), takeOver: undefined }
  const { planInstall } = await import('../../setup/install/install.js')
  const places = await Promise.all(
    clients.map(async client =>
      file === undefined
        ? await installPlaceOf(client, scope, context)
        : { client, scope, file: resolve(file) },
    ),
  )
  const terms = termsOf(args, context)
  if (args.takeOver === true) return await planTaking(args, { places, terms }, context)
  const viewOf = await viewsBefore(context)
  const work = await oneByOne(
    places.map(place => async () => {
      const own = { ...terms, view: terms.view ?? viewOf(place) }
      const entry = await entryOf(place.client, own, context.programs)
      return await planInstall(context, place, { entry, terms: own, takes: [] })
    }),
  )
  return { work }
}

/** Returns a lookup of the view in a client's current user entry, which the client keeps. */
const viewsBefore = async ({
  journals,
  ownFile,
}: Context): Promise<(place: InstallPlace) => string | undefined> => {
  const { viewsIn } = await import('../../setup/client-views.js')
  const views = viewsIn(ownFile.file.value)
  const installs = await journals.all()
  return ({ client, scope }) => {
    const old = installs.find(each => scope === 'user' && each.client === client.id && each.scope === scope)
    const view = old?.install.view
    return view !== undefined && (views.has(view) || serverOfView(view) !== undefined) ? view : undefined
  }
}

const planTaking = async (
  args: Args,
  { places, terms }: { readonly places: readonly InstallPlace[]; readonly terms: Terms },
  context: Context,
): Promise<Work> => {
  const { config } = args
  const { planReplacement } = await import('./replacement.js')
  const wish = { places, terms, config, isAsking: args.yes !== true }
  const { takeOver, preview, prove } = await planReplacement(wish, context)
  const reopened = async (): Promise<Context> => await openContext(config, context.programs.connect, args.url)
  return { work: preview.map(({ plan }) => plan), takeOver, proven: async () => await prove(reopened) }
}

const planUndos = async (
  { file, scope }: Args,
  clients: readonly ClientProgram[],
  context: Context,
): Promise<readonly PlannedInstall[]> => {
  const { planUndo } = await import('../../setup/install/install.js')
  const places = await Promise.all(
    clients.map(async client =>
      file === undefined
        ? await placesToUndoOf(client, scope, context)
        : [{ client, scope, file: resolve(file) }],
    ),
  )
  return await oneByOne(places.flat().map(place => () => planUndo(context, place)))
}

/** Plans to rewrite all entries in the journals as they would be written today. */
const planRefresh = async (context: Context): Promise<Work> => {
  const { planInstall } = await import('../../setup/install/install.js')
  const known = await context.journals.all()
  const plans = known.flatMap(({ client: id, scope, install: { via, url, view, project, path } }) => {
    const client = CLIENTS.find(each => each.id === id)
    if (client === undefined) return []
    const terms = { via, url, view, project }
    return async () => {
      const entry = await entryOf(client, terms, context.programs)
      return await planInstall(context, { client, scope, file: path }, { entry, terms, takes: [] })
    }
  })
  return { work: await oneByOne(plans) }
}

/** Prints all changes, without the secrets of other programs' entries. */
const show = (args: Args, work: readonly PlannedInstall[], takeOver: TakeOver | undefined): void => {
  const imported = takeOver?.imported ?? []
  if (args.json === true) {
    const clients = work.map(({ place, path, lines }) => ({ client: place.client.id, file: path, lines }))
    print(JSON.stringify({ version: 1, imported, clients }))
    return
  }
  if (imported.length > 0) print(`imported: ${imported.join(', ')}`)
  for (const { place, path, lines } of work) {
    print(`${place.client.label}  ${path}${lines.length === 0 ? '  (as it should be)' : ''}`)
    for (const line of lines) print(`  ${line}`)
  }
}

/** Throws a CliError unless the user agrees. */
const permit = async (args: Args): Promise<void> => {
  if (args.yes === true) return
  if (!isInteractive())
    throw new CliError(EXIT.usage, 'nothing was written: stdin is not a terminal; pass --yes', {
      why: 'changes to client files need confirmation',
      fix: `mcp-proxy install ${[...(args.clients ?? []), '--yes'].join(' ')}`,
    })
  if (!(await confirm('write?'))) throw new CliError(EXIT.negative, 'nothing was written')
}
