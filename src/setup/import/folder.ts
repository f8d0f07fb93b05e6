import { isAbsolute, join, posix } from 'node:path'
import { isObject } from '../../kernel/object.js'
import { literal } from './escapes.js'
import { programOf } from './identity.js'
import type { ImportedEntry } from './normalise.js'

/**
 * The folder in which a client starts its servers: absolute, `${workspaceFolder}`, or undefined if unknown.
 */
export interface StartFolder {
  /** For programs that depend on their folder. */
  readonly path: string | undefined
  /** For all other programs. */
  readonly otherwise: string | undefined
  /** True if `path` is the project folder. */
  readonly isProject?: boolean
}

export const WORKSPACE = '${workspaceFolder}'

const FILE =
  /[\w-]\.(?:[cm]?[jt]sx?|py|rb|php|lua|sh|ps1|bat|jar|jsonc?|ya?ml|toml|env|ini|csv|md|txt|db|sqlite3?)$/i
const IN_FOLDER = /^\.\.?(?:$|[/\\])/
/** Matches shell names of the current folder, and options such as `--project-from-cwd`. */
const CURRENT = /(?:^|[^a-z])[pc]wd(?:$|[^a-z])|%cd%/i
/** Packages that work in their start folder, whatever their arguments. */
const ROOTED =
  /(?:^|[/@=])(?:serena(?:-agent|-mcp-server)?|mcp-server-git|@?playwright[/-]mcp(?:-server)?)(?:$|@|==)/
/** Programs that run a part of the project in the current folder. */
const PROJECT_TOOLS =
  /^(?:(?:npm|pnpm|yarn|bun) (?:run|start|exec)|uv run|(?:poetry|pipenv|pdm|hatch|cargo|go|dotnet|bundle|mix|make|just|rake|task|nx|turbo)(?: |$)|deno task)/
const INTERPRETERS = /^(?:node|deno|bun|python[\d.]*|py|ruby|php|perl|tsx|ts-node|sh|bash|zsh)$/
/** Options that name the project folder. */
const FOLDER_OPTION = /^(?:--directory|--project|--prefix|--manifest-path|--cwd|-C)(?:=|$)/

const isScheme = (text: string): boolean => /^[a-z][a-z+]+:/i.test(text)
const isRooted = (text: string): boolean => /^(?:[/\\~@]|\$\{|[a-z]:[/\\])/i.test(text)

const isRelative = (text: string): boolean =>
  IN_FOLDER.test(text) || (FILE.test(text) && !isRooted(text) && !isScheme(text))

/**
 * Returns whether a word names a path in the current folder, also after `--flag=` or before `:/inside`
 * (Docker).
 */
const isOfFolder = (word: string): boolean =>
  ROOTED.test(word) ||
  CURRENT.test(word) ||
  word.split(/[=,;]/).some(part => (isScheme(part) ? [part] : part.split(/:(?![/\\]{2})/)).some(isRelative))

const textsOf = (value: unknown): readonly string[] =>
  isObject(value) ? Object.values(value).filter(each => typeof each === 'string') : []

/** Returns whether a program's behaviour depends on its folder, as far as its entry shows. */
export const dependsOnFolder = ({ command, args, env }: ImportedEntry): boolean => {
  if (typeof command !== 'string') return false
  const words = Array.isArray(args) ? args.map(String) : []
  const program = programOf(command)
  if ([command, ...words, ...textsOf(env)].some(isOfFolder)) return true
  if (PROJECT_TOOLS.test([program, ...words].join(' '))) return !words.some(word => FOLDER_OPTION.test(word))
  if (!INTERPRETERS.test(program)) return false
  const [first = ''] = words.filter(word => !word.startsWith('-') || word === '-m')
  return first !== '' && !words.some(word => /^-c|^-e$|^--eval/.test(word)) && !isRooted(first)
}

const within = (folder: string, path: string): string =>
  folder === WORKSPACE ? posix.join(WORKSPACE, path) : join(folder, path)

/** Variables for the project folder in clients that start programs there. */
const PROJECT_NAMES = /(?<!\$)\$\{(?:PWD|CLAUDE_PROJECT_DIR|workspaceFolder)\}/g
const NAMES_WORKSPACE = /(?<!\$)\$\{(?:workspaceFolder|workspaceFolderBasename|cwd)\}/

/**
 * Returns a program's entry with the folder in which its client would start it. `usual` is the folder of our
 * programs without `cwd`.
 */
export const inFolder = (
  given: ImportedEntry,
  { path, otherwise, isProject = false }: StartFolder,
  usual: string,
): ImportedEntry => {
  if (typeof given['command'] !== 'string') return given
  const entry = isProject && path !== undefined ? inProject(given, path) : given
  const namesProject = JSON.stringify(entry) !== JSON.stringify(given)
  const folder = folderFor(entry, { path, otherwise: namesProject ? path : otherwise })
  const isUsual = folder === usual && !('cwd' in entry)
  return folder === undefined || isUsual ? entry : { ...entry, cwd: folder }
}

/** Returns the folder to write to an entry; undefined if no change is needed. */
const folderFor = (entry: ImportedEntry, { path, otherwise }: StartFolder): string | undefined => {
  const { cwd } = entry
  if (typeof cwd === 'string' && cwd !== '')
    return path === undefined || isRooted(cwd) || isAbsolute(cwd) ? cwd : within(path, cwd)
  if (NAMES_WORKSPACE.test(JSON.stringify(entry))) return undefined
  return dependsOnFolder(entry) ? path : otherwise
}

/** Replaces variables for the project folder with the folder. */
const inProject = (entry: ImportedEntry, folder: string): ImportedEntry => {
  const put = (text: string): string => text.replace(PROJECT_NAMES, () => literal(folder))
  return JSON.parse(JSON.stringify(entry), (_key, value: unknown) =>
    typeof value === 'string' ? put(value) : value,
  ) as ImportedEntry
}
