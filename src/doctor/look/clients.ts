import { existsSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { isObject } from '../../kernel/object.js'
import { CLIENTS, type ClientProgram, isOfFolder } from '../../setup/clients/clients.js'
import { formatOf } from '../../setup/clients/formats.js'
import { type ClientMachine, foldersOf } from '../../setup/clients/machine.js'
import { restrictionsOf } from '../../setup/clients/tool-rules.js'
import { type Found, projectsIn, serversAt, serversIn } from '../../setup/edit/containers.js'
import type { Disk } from '../../setup/files/disk.js'
import { openFile } from '../../setup/files/edit-file.js'
import { inFolder, type StartFolder } from '../../setup/import/folder.js'
import { identityOf, isOwn, type OwnMarks } from '../../setup/import/identity.js'
import { normalise } from '../../setup/import/normalise.js'
import { dialectOf, firstThere, ofProject, sourceStartOf } from '../../setup/import/sources.js'
import type { Journals, OwnedInstall } from '../../setup/install/journal.js'
import { whyFrail } from '../../setup/install/programs.js'
import { SetupError } from '../../setup/setup-error.js'
import type { ClientEntry, ClientFacts, ClientFile } from '../facts.js'

export interface ClientsContext {
  readonly machine: ClientMachine
  readonly disk: Disk
  readonly journals: Journals
  readonly own: OwnMarks
  /** The configuration file; entries for another one are ignored. */
  readonly config: string
  /** Returns true if something listens at the address. */
  readonly isAlive: (url: string) => Promise<boolean>
}

/** Reads the files of all clients, of the user and of the project in the current folder. */
export const readClientFiles = async (context: ClientsContext): Promise<readonly ClientFacts[]> => {
  // D006 reports an unreadable state folder.
  const installs = await context.journals.all().catch((thrown: unknown) => {
    if (thrown instanceof SetupError) return []
    throw thrown
  })
  const all = await Promise.all(CLIENTS.map(client => readClient(client, installs, context)))
  return all.filter(({ files }) => files.length > 0)
}

const readClient = async (
  client: ClientProgram,
  installs: readonly OwnedInstall[],
  context: ClientsContext,
): Promise<ClientFacts> => {
  const { machine, disk } = context
  const { cwd, home } = machine
  const own = installs.filter(each => each.client === client.id).map(({ install }) => install.path)
  // Files of the current folder are read only on request, and the home folder is not a project.
  const userFiles = isOfFolder(client) ? [] : client.user(foldersOf(machine))
  const projectFiles = cwd === home ? [] : (client.project ?? []).map(file => join(cwd, file))
  const there = await Promise.all(
    [userFiles, projectFiles].map(files => firstThere(disk, files).catch(() => files[0])),
  )
  const [user, project] = there
  const read = async (path: string | undefined, folder: string | undefined) =>
    path === undefined ? [] : await readFile(client, { path, folder, installs: own }, context)
  const files = [...(await read(user, undefined)), ...(project === user ? [] : await read(project, cwd))]
  const rules = await restrictionsOf({ disk, backups: undefined }, machine, client.id)
  const [apiHost, restriction] = [await apiHostIn(client, context), rules?.onProxy]
  return { id: client.id, label: client.label, files, apiHost, restriction }
}

interface FileToRead {
  readonly path: string
  readonly folder: string | undefined
  /** The files with an entry in the install journals. */
  readonly installs: readonly string[]
}

const readFile = async (
  client: ClientProgram,
  { path, folder, installs }: FileToRead,
  context: ClientsContext,
): Promise<readonly ClientFile[]> => {
  const file = { path, project: folder, misplaced: undefined, broken: undefined, entries: [] }
  try {
    const { value, state } = await openFile(context, path, client.syntax)
    const isInstalled = installs.includes(state.path)
    const [key = ''] = client.at
    const right = serversAt(value, key)
    const { cwd, home } = context.machine
    const place = folder === undefined ? sourceStartOf(client, path, home) : ofProject(folder)
    const readAll = (all: readonly Found[], start = place.start) =>
      Promise.all(all.map(found => readEntry(found, client, { ...context, start, root: value })))
    const entries = await readAll(right)
    // Servers that Claude Code keeps for the current folder in the user's file.
    const local = folder === undefined ? projectsIn(value).filter(each => each.folder === cwd) : []
    const ofFolder = local.map(async ({ found }) => ({
      ...file,
      project: cwd,
      isInstalled: false,
      entries: await readAll(found, ofProject(cwd).start),
    }))
    const isOther = (found: Found): boolean => isOurs(found, client, context)
    const misplaced =
      entries.some(each => each.isOurs) || !serversIn(value).some(isOther)
        ? undefined
        : `our entry stands in another place than "${key}", where the client looks`
    return [{ ...file, isInstalled, misplaced, entries }, ...(await Promise.all(ofFolder))]
  } catch (thrown) {
    if (!(thrown instanceof SetupError)) throw thrown
    return [{ ...file, isInstalled: installs.length > 0, broken: thrown.message }]
  }
}

/** `root` is the whole file. */
const entryIn = ({ entry }: Found, { id }: ClientProgram, root?: unknown) =>
  normalise(entry, dialectOf(formatOf(id), root)).entry

const wordsOf = (args: unknown): readonly string[] =>
  Array.isArray(args) ? args.filter(each => typeof each === 'string') : []

/** Returns true if an entry starts or addresses this proxy with this configuration. */
const isOurs = (found: Found, client: ClientProgram, { own, config }: ClientsContext): boolean => {
  const entry = entryIn(found, client)
  if (!isOwn(entry, own)) return false
  const words = wordsOf(entry['args'])
  const at = words.indexOf('--config')
  return at === -1 || resolve(words[at + 1] ?? '') === resolve(config)
}

const readEntry = async (
  found: Found,
  client: ClientProgram,
  context: ClientsContext & { readonly start: StartFolder | undefined; readonly root: unknown },
): Promise<ClientEntry> => {
  const entry = inFolder(entryIn(found, client, context.root), context.start ?? NOWHERE, context.machine.home)
  const isOwnEntry = isOurs(found, client, context)
  const { url, command } = entry
  const isDead = isOwnEntry && typeof url === 'string' && !(await context.isAlive(url))
  const paths = [command, ...wordsOf(entry['args'])].filter(
    (word): word is string => typeof word === 'string' && isAbsolute(word),
  )
  return {
    name: found.name,
    entry,
    identity: identityOf(entry),
    isOurs: isOwnEntry,
    isOff: entry['disabled'] === true,
    frail: isOwnEntry ? paths.slice(0, 2).flatMap(frailty) : [],
    deadUrl: isDead ? url : undefined,
  }
}

const NOWHERE: StartFolder = { path: undefined, otherwise: undefined }

const frailty = (path: string): ClientEntry['frail'] => {
  if (!existsSync(path)) return [{ path, why: 'it is gone' }]
  const why = whyFrail(path)
  return why === undefined ? [] : [{ path, why }]
}

/** Returns the API address of Claude Code from its settings, nearest first, or from a variable. */
const apiHostIn = async ({ id }: ClientProgram, context: ClientsContext): Promise<string | undefined> => {
  if (id !== 'claude-code') return undefined
  const { cwd, home, env } = context.machine
  const project = ['settings.local.json', 'settings.json'].map(name => join(cwd, '.claude', name))
  const user = join(env['CLAUDE_CONFIG_DIR'] || join(home, '.claude'), 'settings.json')
  const told = await Promise.all([...project, user].map(path => urlIn(path, context)))
  const url = told.find(each => each !== undefined) ?? env[BASE_URL]
  return url !== undefined && URL.canParse(url) ? new URL(url).hostname : undefined
}

const BASE_URL = 'ANTHROPIC_BASE_URL'

/** Returns undefined for an unreadable file. */
const urlIn = async (path: string, context: ClientsContext): Promise<string | undefined> => {
  const { value } = await openFile(context, path, 'jsonc').catch(() => ({ value: undefined }))
  const set = isObject(value) && isObject(value['env']) ? value['env'][BASE_URL] : undefined
  return typeof set === 'string' ? set : undefined
}
