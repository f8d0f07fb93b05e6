import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { suggest } from '../../config/schema/suggest.js'
import { cause, causeLine } from '../../diagnostics/explain.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { CLIENTS, type ClientProgram, isOfFolder } from '../../setup/clients/clients.js'
import { foldersOf } from '../../setup/clients/machine.js'
import type { Programs } from '../../setup/install/entry.js'
import type { InstallContext, InstallPlace, PlannedInstall } from '../../setup/install/install.js'
import type { Scope, Terms } from '../../setup/install/journal.js'
import type { OwnFile } from '../../setup/own-file.js'
import { configTarget } from '../shared/configuration.js'
import { printToStderr } from '../shared/output/output.js'
import { mark } from '../shared/output/terminal.js'
import { ownScripts, setupFiles, setupMachine } from '../shared/setup-files.js'
import { CliError, EXIT } from '../shared/verb.js'

/** The parts of entries, and the files to write them to. */
export interface Context extends InstallContext {
  readonly ownFile: OwnFile
  readonly programs: Programs
}

/**
 * Opens the install context. Entries start the shim `connect`; `url` adds another address of ours. Rejects
 * with a SetupError.
 */
export const openContext = async (
  flag: string | undefined,
  connect: string,
  url?: string,
): Promise<Context> => {
  const [
    { files, state },
    { openOwnFile },
    { Journals },
    { stableNode },
    { claudeProgram },
    { placeVariables },
  ] = await Promise.all([
    setupFiles(),
    import('../../setup/own-file.js'),
    import('../../setup/install/journal.js'),
    import('../../setup/install/programs.js'),
    import('../../setup/install/claude.js'),
    import('../../setup/install/entry.js'),
  ])
  const machine = setupMachine()
  const config = resolve(configTarget(flag))
  const ownFile = await openOwnFile(files, config, machine)
  const node = await stableNode(machine, process.execPath, realpath)
  if (!node.isStable) printToStderr(causeLine(cause('D052.node', { path: node.path })))
  const urls = [...ownFile.urls, ...(url === undefined ? [] : [url])]
  return {
    files,
    journals: new Journals(files.disk, state),
    own: { scripts: [...ownScripts(), connect], urls },
    claude: await claudeProgram(machine),
    machine,
    ownFile,
    programs: {
      ...{ node: node.path, connect, config, version: IDENTITY.version },
      env: placeVariables(machine),
    },
  }
}

/** Returns the default terms of a client's entry. */
export const defaultTerms = ({ ownFile }: Context): Terms => ({
  via: 'stdio',
  url: ownFile.urls[0] ?? '',
  view: undefined,
  project: undefined,
})

/** Returns a client's entry. Throws a CliError if the client does not support that kind. */
export const entryOf = async (client: ClientProgram, terms: Terms, programs: Programs) => {
  const { entryFor } = await import('../../setup/install/entry.js')
  const entry = entryFor(client, terms, programs)
  if (entry !== undefined) return entry
  throw new CliError(
    EXIT.usage,
    `the file of ${client.label} does not support addresses: leave out --via http`,
  )
}

/** Returns the clients with these names, in our order. Throws a CliError for an unknown name. */
export const clientsNamed = (names: readonly string[]): readonly ClientProgram[] => {
  const ids = CLIENTS.map(({ id }) => id)
  const unknown = names.find(name => !ids.includes(name))
  if (unknown === undefined) return CLIENTS.filter(({ id }) => names.includes(id))
  const meant = suggest(unknown, ids)
  throw new CliError(
    EXIT.usage,
    `unknown client: ${unknown}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    { why: `clients are ${ids.join(', ')}` },
  )
}

/** Returns the clients that have a user file, including unreadable ones. */
export const clientsThere = async ({ files }: Context): Promise<readonly ClientProgram[]> => {
  const { firstThere } = await import('../../setup/import/sources.js')
  const folders = foldersOf(setupMachine())
  const isThere = async (client: ClientProgram): Promise<boolean> =>
    await firstThere(files.disk, client.user(folders)).then(
      file => file !== undefined,
      () => true,
    )
  const found = await Promise.all(CLIENTS.map(async client => !isOfFolder(client) && (await isThere(client))))
  return CLIENTS.filter((_, index) => found[index])
}

/** Returns a client's file in the home or current folder; undefined if it cannot have one. */
const defaultFile = async (
  client: ClientProgram,
  scope: Scope,
  { files }: Pick<Context, 'files'>,
): Promise<string | undefined> => {
  const { fileOf } = await import('../../setup/import/sources.js')
  const project = scope === 'project' ? process.cwd() : undefined
  return await fileOf(files.disk, client, foldersOf(setupMachine()), project)
}

/** Returns a client's place. Throws a CliError if it cannot have one. */
export const installPlaceOf = async (
  client: ClientProgram,
  scope: Scope,
  context: Context,
): Promise<InstallPlace> => {
  const found = await defaultFile(client, scope, context)
  if (found !== undefined) return { client, scope, file: found }
  const { says, fix } = missingPlace(client, scope)
  throw new CliError(EXIT.failure, `${client.label} ${says}`, { why: 'nothing was written', fix })
}

const missingPlace = (
  { label, project, createsItself }: ClientProgram,
  scope: Scope,
): { readonly says: string; readonly fix: string } => {
  if (scope === 'project' && project === undefined)
    return { says: 'does not support project files', fix: 'leave out --scope project' }
  return createsItself === true
    ? { says: 'has not created its file yet', fix: `start ${label} once, then run this again` }
    : { says: 'does not run on this system', fix: 'use --scope project to write the file of a project' }
}

/** Returns the files of a client in which an install can be undone. Rejects with a SetupError. */
export const placesToUndoOf = async (
  client: ClientProgram,
  scope: Scope,
  context: Context,
): Promise<readonly InstallPlace[]> => {
  const { placesToUndo } = await import('../../setup/install/install.js')
  return await placesToUndo(context, { client, scope, file: await defaultFile(client, scope, context) })
}

/** Plans one client after the other, because two clients may share a file. */
export const oneByOne = async (
  plans: readonly (() => Promise<PlannedInstall>)[],
): Promise<readonly PlannedInstall[]> => {
  const work: PlannedInstall[] = []
  for (const plan of plans) {
    const own = await plan()
    const isSecond = work.some(({ path }) => path === own.path)
    work.push(isSecond ? { ...own, changes: [], carryOut: async () => await (await plan()).carryOut() } : own)
  }
  return work
}

/** Some clients rewrite their file when they end, or a moment later. */
const READ_BACK_MS = 2000

/**
 * Checks after a delay that the changes are still there, and prints how to make each client reload its file.
 * Resolves with the exit code.
 */
export const readBack = async (plans: readonly PlannedInstall[], isUndo = false): Promise<number> => {
  await setTimeout(READ_BACK_MS)
  let code: number = EXIT.ok
  for (const plan of plans) {
    const { label, reload, reloadUndone = reload } = plan.place.client
    const isKept = await plan.isKept()
    if (isKept) printToStderr(`${mark(true)} ${label}: ${isUndo ? reloadUndone : reload}`)
    else {
      printToStderr(`${mark(false)} ${label} overwrote this change; quit ${label} and run this again`)
      code = EXIT.failure
    }
  }
  return code
}
