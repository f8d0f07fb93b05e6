import { isObject } from '../../kernel/object.js'
import type { ImportedEntry } from './normalise.js'
import { withValues } from './secrets.js'

interface Runner {
  /** Matches the program and its subcommands. */
  readonly words: RegExp
  readonly kind: string
  /** Matches the version in a package name. */
  readonly version: RegExp
  /** Flags that take a value. */
  readonly withValue: RegExp
  /** Flags that name the package; the program's name follows them. */
  readonly names?: RegExp
  /** Flags that do not change which program runs. */
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
    // Most flags take a value, so the list names the exceptions.
    withValue:
      /^(?!(?:-[itdPq]|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|quiet))$)(?:-\w|--[\w-]+)$/,
    idle: /^(?:-[itqd]+|--(?:rm|init|interactive|tty|detach|quiet|pull|name))$/,
  },
]

/** Returns a program's name without its folder and extension. */
export const programOf = (path: string): string =>
  (path.split(/[/\\]/).at(-1) ?? path).replace(/\.(?:exe|cmd|bat)$/i, '')

/** Returns the part that identifies a server: the program and its arguments, or the address. */
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

/** A runner's command line: its flags, and the arguments of the program. */
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

/** Removes the runner's flags, which precede the package name. */
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

/** Returns a runner's package without its version, and the program's arguments. */
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

/** Returns the package's version and the runner's flags that change its behaviour. */
const runOptions = (words: readonly string[]): readonly unknown[] => {
  const { flags, runner, words: [name = ''] = [] } = runOf(words) ?? { flags: [] }
  if (runner === undefined) return []
  const given = flags.filter(
    // A variable's name alone refers to the entry's variable.
    ([flag, value]) => !runner.idle.test(flag) && !(/^(?:-e|--env)$/.test(flag) && /^\w+$/.test(value)),
  )
  const version = (runner.version.exec(name)?.[0] ?? '').replace(/^[@:]latest$/, '')
  return [version, given.map(String).sort()]
}

/** Returns the folder of an entry; empty for the home folder, the default of programs. */
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
 * Returns the settings that distinguish entries of one program or address: variables, headers, folder,
 * version, runner options and transport. `home` is the user's home folder.
 */
export const settingsOf = (entry: ImportedEntry, home = ''): string => {
  const sorted = (value: unknown): unknown =>
    isObject(value) ? Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)) : []
  const asText = (_name: string, value: unknown): unknown =>
    typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  const { env, envFile, inheritEnv, headers, type, command, timeouts } = entry
  // A server of type "http" is often written without the type.
  const kind = command !== undefined || type === 'http' ? undefined : type
  const parts = [sorted(env), sorted(headers), runOptions(wordsOf(entry)), folderOf(entry, home), kind]
  return JSON.stringify([...parts, sorted(timeouts), envFile ?? null, inheritEnv === true], asText)
}

/** Replaces known variables in an entry with their values. */
export const resolvedEntry = (
  entry: ImportedEntry,
  values: Readonly<Record<string, string>>,
): ImportedEntry =>
  JSON.parse(JSON.stringify(entry), (_key, value: unknown) =>
    typeof value === 'string'
      ? withValues(value, name => (Object.hasOwn(values, name) ? values[name] : undefined))
      : value,
  ) as ImportedEntry

/** Marks of this proxy's own entries: absolute paths of its programs, and its addresses. */
export interface OwnMarks {
  readonly scripts: readonly string[]
  readonly urls: readonly string[]
}

/** Returns whether an entry starts or addresses this proxy. */
export const isOwn = (entry: ImportedEntry, own: OwnMarks): boolean => {
  const { url } = entry
  if (typeof url === 'string') {
    const address = `${addressOf(url)}/`
    // Addresses of views are below the proxy's address, and addresses of single servers next to it.
    return own.urls.map(addressOf).some(each => {
      const servers = each.replace(/\/(?:mcp|sse|ws)$/, '/servers')
      return address.startsWith(`${each}/`) || address.startsWith(`${servers}/`)
    })
  }
  const words = wordsOf(entry)
  const [program = '', verb = ''] = words
  // Other programs of this name do not have these verbs.
  if (programOf(program) === 'mcp-proxy' && /^(?:connect|stdio)$/.test(verb)) return true
  const isOurs = (word: string): boolean =>
    /^mcp-proxy-daemon(?:@|$)/.test(word) || own.scripts.includes(word)
  return words.some(word => isOurs(word) || /[/\\]mcp-proxy-daemon[/\\]bin[/\\][\w-]+\.c?js$/.test(word))
}
