import { isObject } from '../../kernel/object.js'
import type { ImportedEntry } from './normalise.js'
import { withValues } from './secrets.js'

interface Runner {
  /** The program and the words that may follow. */
  readonly words: RegExp
  readonly kind: string
  /** How the version stands at a package's name. */
  readonly version: RegExp
  /** Flags that have a value behind them. */
  readonly withValue: RegExp
  /** Those of them that name the package, whose program is named behind them. */
  readonly names?: RegExp
  /** Flags that do not change the program that runs. */
  readonly idle: RegExp
}

const RUNNERS: readonly Runner[] = [
  {
    words: /^(?:npx|bunx|pnpx|pnpm dlx|yarn dlx|npm exec|bun x)$/,
    kind: 'npm',
    version: /(?<=.)@[^@/]*$/,
    withValue: /^(?:-[pcw]|--(?:package|call|workspace|registry|cache|prefix))$/,
    names: /^(?:-p|--package)$/,
    idle: /^(?:-y|--yes|-q|--quiet|--silent|--prefer-o(?:n|ff)line|--no-install|--)$/,
  },
  {
    words: /^(?:uvx|uv tool run|pipx run)$/,
    kind: 'pypi',
    version: /(?:==|@).*$/,
    withValue:
      /^(?:-[pwc]|--(?:from|spec|with(?:-[a-z]+)?|python|(?:default-|extra-)?index(?:-url)?|directory|env-file))$/,
    names: /^--(?:from|spec)$/,
    idle: /^(?:-q|-qq|--quiet|--no-progress|--)$/,
  },
  {
    words: /^(?:docker|podman)(?: container)? run$/,
    kind: 'oci',
    version: /(?:@sha256:.*|:[^:/]*)$/,
    // Most have one, so that those without are named.
    withValue:
      /^(?!(?:-[itdPq]|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|quiet))$)(?:-\w|--[\w-]+)$/,
    idle: /^(?:-[itqd]+|--(?:rm|init|interactive|tty|detach|quiet|pull|name))$/,
  },
]

/** The name of a program without its folder and extension. */
export const programOf = (path: string): string =>
  (path.split(/[/\\]/).at(-1) ?? path).replace(/\.(?:exe|cmd|bat)$/i, '')

/** The program and its arguments, or the address: what entries of one server have in common. */
export const identityOf = (entry: ImportedEntry): string => {
  const { command, url } = entry
  const words = wordsOf(entry)
  if (typeof command === 'string') return JSON.stringify(packageOf(words) ?? words)
  return JSON.stringify(['url', addressOf(typeof url === 'string' ? url : '')])
}

const addressOf = (url: string): string => {
  const [, origin = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(url) ?? ['', url]
  return origin.toLowerCase() + rest.replace(/\/(?=$|[?#])/, '')
}

/** What a runner runs: how it is told so, and the arguments of the program. */
interface Run {
  readonly runner: Runner
  readonly flags: readonly (readonly [name: string, value: string])[]
  readonly words: readonly string[]
}

const runOf = ([first = '', ...rest]: readonly string[]): Run | undefined => {
  const program = programOf(first)
  if (program === 'cmd' && rest[0]?.toLowerCase() === '/c') return runOf(rest.slice(1))
  for (const runner of RUNNERS) {
    const count = [0, 1, 2].find(each => runner.words.test([program, ...rest.slice(0, each)].join(' ')))
    if (count !== undefined) return { runner, ...taken(rest.slice(count), runner) }
  }
  return undefined
}

/** Takes off the flags of the runner, which stand before the name of the package. */
const taken = (words: readonly string[], { withValue }: Runner): Pick<Run, 'flags' | 'words'> => {
  const flags: (readonly [string, string])[] = []
  let at = 0
  for (; words[at]?.startsWith('-') === true; at += 1) {
    const word = words[at] ?? ''
    const [, name = word, own] = /^(--?[\w-]+?)=([\s\S]*)$/.exec(word) ?? []
    const isNext = own === undefined && withValue.test(word)
    if (isNext) at += 1
    flags.push([name, own ?? (isNext ? (words[at] ?? '') : '')])
  }
  return { flags, words: words.slice(at) }
}

/** The package that a runner runs, without its version, and the arguments of the program. */
const packageOf = (words: readonly string[]): readonly string[] | undefined => {
  const run = runOf(words)
  const [name, ...args] = run?.words ?? []
  if (run === undefined || name === undefined) return undefined
  const { kind, version, names } = run.runner
  const all = [run.flags.find(([flag]) => names?.test(flag))?.[1] ?? name, name]
  return [kind, ...new Set(all.map(each => each.replace(version, ''))), ...args]
}

const wordsOf = ({ command, args }: ImportedEntry): readonly string[] =>
  typeof command === 'string' ? [command, ...(Array.isArray(args) ? args.map(String) : [])] : []

/** How a package runs: its version, and the flags of its runner that make a difference. */
const runOptions = (words: readonly string[]): readonly unknown[] => {
  const { flags, runner, words: [name = ''] = [] } = runOf(words) ?? { flags: [] }
  if (runner === undefined) return []
  const given = flags.filter(
    // The name of a variable alone refers to the entry's variable.
    ([flag, value]) => !runner.idle.test(flag) && !(/^(?:-e|--env)$/.test(flag) && /^\w+$/.test(value)),
  )
  const version = (runner.version.exec(name)?.[0] ?? '').replace(/^[@:]latest$/, '')
  return [version, given.map(String).sort()]
}

/** The folder that an entry names; empty for the home folder, in which programs run unless told otherwise. */
const folderOf = ({ cwd, sharing }: ImportedEntry, home: string): string => {
  if (typeof cwd !== 'string' || cwd === '') return sharing === 'workspace' ? WORKSPACE : ''
  const path = cwd
    .replace(/^(?:~|\$\{userHome\})(?=[/\\]|$)/, () => home)
    .replace('${cwd}', () => WORKSPACE)
    .replace(/(?<=.)[/\\]+$/, '')
  return path === home ? '' : path
}

const WORKSPACE = '${workspaceFolder}'

/**
 * The parts that make entries of one program or address different servers: variables, headers, folder,
 * version, options of the runner, transport. `home` is the user's home folder.
 */
export const settingsOf = (entry: ImportedEntry, home = ''): string => {
  const sorted = (value: unknown): unknown =>
    isObject(value) ? Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)) : []
  const asText = (_name: string, value: unknown): unknown =>
    typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  const { env, headers, type, command, timeouts } = entry
  // A server of type "http" is also found without the type.
  const kind = command !== undefined || type === 'http' ? undefined : type
  const parts = [sorted(env), sorted(headers), runOptions(wordsOf(entry)), folderOf(entry, home), kind]
  return JSON.stringify([...parts, sorted(timeouts)], asText)
}

/** The entry with the values of these variables, as far as they are known. */
export const resolvedEntry = (
  entry: ImportedEntry,
  values: Readonly<Record<string, string>>,
): ImportedEntry =>
  JSON.parse(JSON.stringify(entry), (_key, value: unknown) =>
    typeof value === 'string'
      ? withValues(value, name => (Object.hasOwn(values, name) ? values[name] : undefined))
      : value,
  ) as ImportedEntry

/** How entries of this proxy are recognised: by absolute paths of its programs, and its addresses. */
export interface OwnMarks {
  readonly scripts: readonly string[]
  readonly urls: readonly string[]
}

/** Whether this is an entry that starts or addresses this proxy itself. */
export const isOwn = (entry: ImportedEntry, own: OwnMarks): boolean => {
  const { url } = entry
  if (typeof url === 'string') {
    // A view has an address below.
    return own.urls.some(each => `${addressOf(url)}/`.startsWith(`${addressOf(each)}/`))
  }
  const words = wordsOf(entry)
  const [program = '', verb = ''] = words
  // Other programs of this name have no such verbs.
  if (programOf(program) === 'mcp-proxy' && /^(?:connect|stdio)$/.test(verb)) return true
  const isOurs = (word: string): boolean =>
    /^mcp-proxy-daemon(?:@|$)/.test(word) || own.scripts.includes(word)
  return words.some(word => isOurs(word) || /[/\\]mcp-proxy-daemon[/\\]bin[/\\][\w-]+\.c?js$/.test(word))
}
