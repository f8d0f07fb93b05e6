import { isObject } from '../../kernel/object.js'
import type { Entry } from './normalise.js'

/** Runners of packages: the words that may follow, and how the version stands at a package's name. */
const RUNNERS: readonly (readonly [words: RegExp, kind: string, version: RegExp])[] = [
  [/^(?:npx|bunx|pnpx|pnpm dlx|yarn dlx|npm exec|bun x)$/, 'npm', /(?<=.)@[^@/]*$/],
  [/^(?:uvx|uv tool run|pipx run)$/, 'pypi', /(?:==|@).*$/],
  [/^(?:docker|podman) run$/, 'oci', /(?:@sha256:.*|:[^:/]*)$/],
]

/** Flags that have a value of their own. */
const WITH_VALUE =
  /^(?:-p|--package|--from|--with|--python|-e|--env|--env-file|-v|--volume|--mount|--name|--network|--net|--publish|-w|--workdir|-u|--user|--entrypoint|--platform|--add-host|-l|--label)$/

const programOf = (path: string): string =>
  (path.split(/[/\\]/).at(-1) ?? path).replace(/\.(?:exe|cmd|bat)$/i, '')

/** What makes two entries the same server: a program and its arguments, or an address. */
export const identityOf = (entry: Entry): string => {
  const { command, url } = entry
  const args = Array.isArray(entry['args']) ? entry['args'].map(String) : []
  if (typeof command === 'string') return JSON.stringify(packageOf([command, ...args]) ?? [command, ...args])
  const address = typeof url === 'string' ? url : ''
  const [, origin = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(address) ?? ['', address]
  return JSON.stringify(['url', origin.toLowerCase() + rest.replace(/\/(?=$|[?#])/, '')])
}

/** The package that a runner runs, without its version, and the arguments of the program. */
const packageOf = (words: readonly string[]): readonly string[] | undefined => {
  const [first = '', ...rest] = words
  const program = programOf(first)
  if (program === 'cmd' && rest[0]?.toLowerCase() === '/c') return packageOf(rest.slice(1))
  for (const [names, kind, version] of RUNNERS) {
    for (const count of [0, 1, 2]) {
      if (!names.test([program, ...rest.slice(0, count)].join(' '))) continue
      const [name, ...args] = withoutFlags(rest.slice(count))
      return name === undefined ? undefined : [kind, name.replace(version, ''), ...args]
    }
  }
  return undefined
}

/** Leaves out the flags of the runner, which stand before the name of the package. */
const withoutFlags = (words: readonly string[]): readonly string[] => {
  const at = words.findIndex(
    (word, index) => !word.startsWith('-') && !WITH_VALUE.test(words[index - 1] ?? ''),
  )
  return at === -1 ? [] : words.slice(at)
}

/** What two entries of one server may differ in: its variables and headers, which are texts in the end. */
export const settingsOf = (entry: Entry): string => {
  const sorted = (value: unknown): unknown =>
    isObject(value) ? Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)) : []
  const asText = (_name: string, value: unknown): unknown =>
    typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  return JSON.stringify([sorted(entry['env']), sorted(entry['headers'])], asText)
}

/** How entries of this proxy are recognised: by absolute paths of its programs, and its addresses. */
export interface OwnMarks {
  readonly scripts: readonly string[]
  readonly urls: readonly string[]
}

/** Whether this is an entry that starts or addresses this proxy itself. */
export const isOwn = (entry: Entry, own: OwnMarks): boolean => {
  const { command, url, args } = entry
  if (typeof url === 'string') return own.urls.some(each => identityOf({ url }) === identityOf({ url: each }))
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])].map(String)
  const isOurs = (word: string): boolean =>
    /^mcp-proxy-daemon(?:@|$)/.test(word) || own.scripts.includes(word)
  return words.some(word => isOurs(word) || /[/\\]mcp-proxy-daemon[/\\]bin[/\\][\w-]+\.c?js$/.test(word))
}
