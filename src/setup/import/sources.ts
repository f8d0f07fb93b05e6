import { dirname, join, resolve, sep } from 'node:path'
import { CLIENTS, type ClientProgram, isOfFolder } from '../clients/clients.js'
import { type ClientFormat, formatOf } from '../clients/formats.js'
import { type ClientMachine, type Folders, foldersOf } from '../clients/machine.js'
import { withSwitches } from '../clients/switches.js'
import { formatOfContent, formatOfFile, formatOfPath } from '../clients/whose-file.js'
import { valueIn } from '../edit/change.js'
import { type Found, projectsIn, serversAt, serversIn } from '../edit/containers.js'
import type { Disk } from '../files/disk.js'
import { located, parserOf, readValue, type Syntax } from '../files/edit-file.js'
import { isThere, readState, revisedTextOf } from '../files/revise.js'
import { SetupError } from '../setup-error.js'
import { type StartFolder, WORKSPACE } from './folder.js'
import type { Dialect } from './normalise.js'
import { inputsIn } from './variables.js'

/** Servers found in one place. */
export interface Source {
  /** Client id, or `file`. */
  readonly id: string
  /** For people. */
  readonly label: string
  readonly file: string
  readonly found: readonly Found[]
  readonly dialect: Dialect
  /** Working folder of its programs, for a project file. */
  readonly folder?: string
  /** Folder in which its client would start its programs; undefined if unknown. */
  readonly start?: StartFolder
}

export interface Sources {
  readonly sources: readonly Source[]
  /** Unreadable files. */
  readonly problems: readonly SetupError[]
  /** Clients whose user files contain project servers, which stay there. */
  readonly projects: readonly ProjectCount[]
}

/** The servers that a client keeps for single projects. */
export interface ProjectCount {
  /** Client name, for people. */
  readonly label: string
  readonly projects: number
  readonly servers: number
}

/** Formats a message such as "3 Claude Code projects have their own servers (7); they stay there". */
export const projectsText = ({ label, projects, servers }: ProjectCount): string =>
  `${projects} ${label} ${projects === 1 ? 'project has its' : 'projects have their'} own servers (${servers}); they stay there`

export interface SourceOptions {
  readonly machine: ClientMachine
  readonly disk: Disk
  /** Reads only these clients; all if undefined. */
  readonly clients: readonly ClientProgram[] | undefined
  /** Project folder whose files are read too, absolute. */
  readonly project: string | undefined
}

/** Returns how to read the entries of a format; of an unknown one without it. `root` is the whole file. */
export const dialectOf = (format: ClientFormat | undefined, root?: unknown): Dialect => ({
  timeoutUnit: format?.timeoutUnit ?? 'unclear',
  variables: format?.variables,
  hasShellVariables: format?.variables.includes('percent') ?? false,
  hasHeaderVariables: format?.id === 'goose',
  fallsBack: format?.fallsBack ?? false,
  hasHttpSockets: format?.hasHttpSockets ?? false,
  inputs: inputsIn(root),
})

/** Returns the folder in which a client starts the servers of its user file. */
export const sourceStartOf = (
  client: ClientProgram,
  file: string,
  home: string,
): Pick<Source, 'folder' | 'start'> => {
  if (isOfFolder(client)) return ofProject(dirname(file))
  return { start: { path: client.startsInProject === true ? WORKSPACE : home, otherwise: home } }
}

/** Returns the folder of a project's servers. */
export const ofProject = (folder: string): Pick<Source, 'folder' | 'start'> => ({
  folder,
  start: { path: folder, otherwise: folder, isProject: true },
})

/** Returns the project that a client's file belongs to, by the file's name. */
const projectOf = (file: string, clients: readonly ClientProgram[]): string | undefined => {
  const names = clients.flatMap(({ project = [] }) => project.map(name => join(sep, name)))
  const name = names.find(each => file.endsWith(each))
  return name === undefined ? undefined : file.slice(0, -name.length)
}

/** Returns the folder of a file such as `.roo/mcp.json`, whose client we do not edit. */
const folderAbove = (file: string, format: ClientFormat | undefined): string | undefined => {
  if (format === undefined || CLIENTS.some(({ id }) => id === format.id)) return undefined
  const end = format.files.find(each => each.startsWith('/.') && file.toLowerCase().endsWith(join(each)))
  return end === undefined ? undefined : file.slice(0, -end.length)
}

/** Reads the files of clients: project files first, then user files. Never rejects. */
export const readClients = async ({ machine, disk, clients, project }: SourceOptions): Promise<Sources> => {
  const folders = foldersOf(machine)
  const sources: Source[] = []
  const problems: SetupError[] = []
  const projects: ProjectCount[] = []
  const read = async (client: ClientProgram, files: readonly string[], folder?: string): Promise<void> => {
    try {
      const file = await firstThere(disk, files)
      if (file === undefined) return
      const value = await readValue({ disk }, file, client.syntax)
      const { id, label } = client
      const format = formatOf(id)
      const written = formatOfFile(format, file, value, entriesOf(serversIn(value)))
      const base = { id, label, file, dialect: dialectOf(written, value) }
      const switched = (found: readonly Found[], project = folder): Promise<readonly Found[]> =>
        withSwitches(found, { format, file, root: value, project }, { disk, machine })
      const place = folder === undefined ? sourceStartOf(client, file, machine.home) : ofProject(folder)
      const ofProjects = folder === undefined ? projectsIn(value) : []
      const asked = ofProjects.filter(each => each.folder === project)
      for (const each of asked)
        sources.push({
          ...base,
          found: await switched(each.found, each.folder),
          ...ofProject(each.folder),
        })
      const others = ofProjects.filter(each => !asked.includes(each))
      const servers = others.reduce((sum, { found }) => sum + found.length, 0)
      if (others.length > 0) projects.push({ label, projects: others.length, servers })
      sources.push({ ...base, found: await switched(serversIn(value)), ...place })
    } catch (thrown) {
      if (!(thrown instanceof SetupError)) throw thrown
      problems.push(thrown)
    }
  }
  // Files of the current folder are read only on request, because they could run programs.
  const asked = clients ?? CLIENTS.filter(client => !isOfFolder(client))
  if (project !== undefined) {
    for (const client of asked)
      await read(
        client,
        (client.project ?? []).map(file => join(project, file)),
        project,
      )
  }
  for (const client of asked) await read(client, client.user(folders))
  return { sources, problems, projects }
}

/** Returns the servers next to our entry in a client's file. Rejects with a SetupError. */
export const readClientFile = async (
  { machine, disk }: Pick<SourceOptions, 'machine' | 'disk'>,
  client: ClientProgram,
  file: string,
): Promise<Source> => {
  const value = await readValue({ disk }, file, client.syntax)
  const { id, label } = client
  const isUsers = client.user(foldersOf(machine)).includes(file)
  const project = isUsers ? undefined : projectOf(file, [client])
  const place = project === undefined ? sourceStartOf(client, file, machine.home) : ofProject(project)
  const format = formatOf(id)
  const found = serversAt(value, client.at[0] ?? '')
  return {
    id,
    label,
    file,
    found: await withSwitches(found, { format, file, root: value, project }, { disk, machine }),
    dialect: dialectOf(format, value),
    ...place,
  }
}

/** Returns the first existing file. */
export const firstThere = async (disk: Disk, files: readonly string[]): Promise<string | undefined> => {
  for (const file of files) if (await isThere(disk, file)) return file
  return undefined
}

/** Returns the client file to edit: the first existing one, or else the first that may be created. */
export const fileOf = async (
  disk: Disk,
  client: ClientProgram,
  folders: Folders,
  project?: string,
): Promise<string | undefined> => {
  const files =
    project === undefined ? client.user(folders) : (client.project ?? []).map(file => join(project, file))
  return (await firstThere(disk, files)) ?? (client.createsItself === true ? undefined : files[0])
}

interface GivenPlace {
  /** The format of files with its name. */
  readonly named: ClientFormat | undefined
  readonly project: string | undefined
  readonly machine: ClientMachine | undefined
}

/** Returns the folder in which the client of a file given by path starts its programs. */
const startOfGiven = (paths: readonly string[], { named, project, machine }: GivenPlace): StartFolder => {
  const client = CLIENTS.find(({ id }) => id === named?.id)
  const isUsers = isUsersFile(paths, client, machine)
  if (project !== undefined && !isUsers) return { path: project, otherwise: undefined, isProject: true }
  const folder = isUsers && client?.startsInProject === true ? WORKSPACE : client && machine?.home
  return { path: folder ?? dirname(paths.at(-1) ?? ''), otherwise: undefined }
}

const isUsersFile = (
  paths: readonly string[],
  client: ClientProgram | undefined,
  machine: ClientMachine | undefined,
): boolean => {
  if (client === undefined || machine === undefined) return false
  return client.user(foldersOf(machine)).some(file => paths.includes(file))
}

/** Reads a file of any client, as that client does. Rejects with a SetupError. */
export const readGiven = async (disk: Disk, file: string, machine?: ClientMachine): Promise<Source> => {
  const state = await readState(disk, file)
  if (state.bytes === undefined) throw new SetupError(state.path, 'there is no such file')
  const { found, root } = await serversInText(revisedTextOf(state), state.path)
  const named = formatOfPath(resolve(file)) ?? formatOfPath(state.path)
  const format = formatOfFile(named, state.path, root, entriesOf(found))
  const project = projectOf(state.path, CLIENTS) ?? folderAbove(state.path, named)
  const source = {
    id: 'file',
    label: file,
    file: state.path,
    found,
    dialect: dialectOf(format, root),
    start: startOfGiven([resolve(file), state.path], { named, project, machine }),
  }
  const place = { format: named ?? format, file: resolve(file), root, project }
  return machine === undefined
    ? source
    : { ...source, found: await withSwitches(found, place, { disk, machine }) }
}

/** Reads a pasted text. Rejects with a SetupError. */
export const readPasted = async (text: string): Promise<Source> => {
  const { found, root } = await serversInText(text, 'the pasted text')
  const dialect = dialectOf(formatOfContent(root, entriesOf(found)), root)
  return { id: 'pasted', label: 'the pasted text', file: '-', found, dialect }
}

const entriesOf = (found: readonly Found[]): readonly object[] => found.map(({ entry }) => entry)

const ATTEMPTS: readonly (readonly [syntax: Syntax, wrap: (text: string) => string])[] = [
  ['jsonc', text => text],
  // A fragment of an object, as copied from a web page.
  ['jsonc', text => `{${text.trim().replace(/,$/, '')}}`],
  ['toml', text => text],
  ['yaml', text => text],
]

/** Returns the servers of a text in the first syntax that has any, and the whole value. */
const serversInText = async (
  text: string,
  place: string,
): Promise<{ readonly found: readonly Found[]; readonly root: unknown }> => {
  let first: unknown
  for (const [syntax, wrap] of ATTEMPTS) {
    const parse = await parserOf(syntax)
    try {
      const root: unknown = located(place, () => valueIn(parse, wrap(text)))
      const found = serversIn(root)
      if (found.length > 0) return { found, root }
    } catch (thrown) {
      if (!(thrown instanceof SetupError)) throw thrown
      first ??= thrown
    }
  }
  throw first instanceof SetupError && /^\s*[{[]/.test(text)
    ? first
    : new SetupError(place, 'no servers found')
}
