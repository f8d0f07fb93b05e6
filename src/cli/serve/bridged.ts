import { resolve } from 'node:path'
import { splitArgument } from '../../config/read/secrets.js'
import { readTransportAddress } from '../../config/read/transport.js'
import { withUrlLogin } from '../../config/read/url-login.js'
import { expand } from '../../config/read/variables.js'
import type { ServerTransport, SocketTransport, StdioTransport, UrlTransport } from '../../config/types.js'
import { proxyRulesOf } from '../../kernel/machine/forward-proxy.js'
import { CliError, EXIT } from '../shared/verb.js'

/**
 * Returns the transport of a typed command, which runs as in a shell: in this folder, with the whole
 * environment.
 */
export const commandTransport = (
  [command = '', ...args]: readonly string[],
  pairs: readonly string[] = [],
): StdioTransport => {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value
  for (const pair of pairs) {
    const cut = pair.indexOf('=')
    if (cut < 1) throw new CliError(EXIT.usage, '--env needs KEY=VALUE')
    env[pair.slice(0, cut)] = pair.slice(cut + 1)
  }
  return { kind: 'stdio', command, args, env, unsetEnv: [], cwd: process.cwd() }
}

/** Values of `--from`. "auto" depends on the URL and tries the newer HTTP transport first. */
export const FROM = ['auto', 'http', 'sse', 'ws'] as const

/** Flags of a URL. */
export interface UrlFlags {
  readonly header?: readonly string[] | undefined
  readonly from?: (typeof FROM)[number] | undefined
}

/**
 * Returns the transport of a running server. Throws a CliError for an invalid URL or flag, without repeating
 * it.
 */
export const urlTransport = (
  url: string,
  { header, from = 'auto' }: UrlFlags = {},
): UrlTransport | SocketTransport => {
  const pinned = from === 'auto' ? undefined : from
  const address = readTransportAddress(url, pinned)
  if (address.is === 'wrong') throw new CliError(EXIT.usage, WRONG_URL[from])
  const headers = Object.fromEntries((header ?? []).map(readHeader))
  if (address.is === 'http-socket') {
    const { kind, url, socketPath } = address
    return { kind, url, socketPath, headers }
  }
  if (address.is === 'url') {
    const login = withUrlLogin(url, headers)
    if (login.hasBoth === true)
      throw new CliError(
        EXIT.usage,
        'the URL has a user and password: remove them, or --header Authorization',
      )
    return { kind: address.kind, ...login, proxy: proxyRulesOf(process.env) }
  }
  if (header !== undefined) {
    throw new CliError(EXIT.usage, '--header requires HTTP: append #/mcp to the address of the socket')
  }
  return { kind: 'socket', path: address.path }
}

const HTTP_URL =
  'needs a complete http or https address, such as https://example.com/mcp, or a socket with a path after #, ' +
  'such as unix:///run/x.sock#/mcp'
const WRONG_URL: Readonly<Record<(typeof FROM)[number], string>> = {
  auto:
    'the URL must be a complete address that begins with http://, https://, ws://, wss://, unix:/ or ' +
    'pipe:///, such as https://example.com/mcp; a command follows --',
  http: `--from http ${HTTP_URL}`,
  sse: `--from sse ${HTTP_URL}`,
  ws: '--from ws needs a complete ws or wss address, such as wss://example.com/mcp',
}

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/

const readHeader = (text: string): [name: string, value: string] => {
  const [, name, value] = HEADER.exec(withVariables(text)) ?? []
  if (name === undefined || value === undefined) {
    throw new CliError(EXIT.usage, '--header needs "Name: value", without line breaks')
  }
  return [name, value.trim()]
}

/** Expands the variables of a header as a configuration file does, so that secrets stay out of arguments. */
const withVariables = (header: string): string => {
  const { text, faults } = expand(header, process.env, { folder: process.cwd() })
  const [fault] = faults
  if (fault === undefined) return text
  if (fault.is === 'unset') {
    const fix = `set it, or write \${${fault.name}:-default}`
    throw new CliError(EXIT.usage, `--header: the variable ${fault.name} is not set`, { fix })
  }
  if (fault.is === 'unread')
    throw new CliError(EXIT.usage, `--header: the file ${fault.path} ${fault.why}`, {
      fix: 'write another path',
    })
  const fix = 'write ${NAME} or ${NAME:-default} for a variable, or $${ for the characters themselves'
  throw new CliError(EXIT.usage, '--header: invalid variable after "${"', { fix })
}

const RUNNERS =
  /^(?:node|npx|npm|bunx?|deno|pnpm|yarn|uvx?|python[0-9.]*|pipx|docker|podman|sh|bash|cmd|env)$/
const RUNNER_WORDS = new Set(['run', 'exec', 'dlx', 'x', 'tool'])
const FALLBACK = 'server'

/** File names that do not identify a program. */
const COMMON_FILES = /^(?:index|main|__main__|mod|cli|app|start|run)$/i
/** Folder names that do not identify a program, and Windows drives. */
const COMMON_FOLDERS = /^(?:[a-z]:|dist|build|out|lib|src|bin|esm|cjs|target|release|debug|node_modules)$/i

/** Derives a name for logs, errors and snippets from the command or address. */
export const bridgedName = (transport: ServerTransport): string => {
  if (transport.kind === 'socket') return plain(stemOf(transport.path))
  if (transport.kind !== 'stdio')
    return plain(
      transport.socketPath === undefined ? new URL(transport.url).hostname : stemOf(transport.socketPath),
    )
  const { args, command } = transport
  const words = [command, ...args]
  const meant = words.find(
    (word, index) =>
      !RUNNERS.test(stemOf(word)) &&
      !RUNNER_WORDS.has(word) &&
      // A flag, including `cmd /c`, or its value, which may be a secret as in `docker run -e TOKEN=…`.
      !(index > 0 && /^-|=|^\/[a-z]$/i.test(word)) &&
      !splitArgument(word, index, words).isSecret &&
      !isCode(word, words[index - 1]),
  )
  return plain(meant === undefined ? FALLBACK : wordName(meant, transport.cwd ?? ''))
}

/** Returns whether a word is code, as after `node -e` or `sh -c`. */
const isCode = (word: string, before = ''): boolean =>
  /^(?:-[cep]|--eval|--print)$/.test(before) && /[\s;(]/.test(word)

/** Returns the last part of a path or package name, without version or extension. */
const stemOf = (word: string): string =>
  (word.split(/[/\\]/).at(-1) ?? '').replace(/(?!^)@[^@]*$/, '').replace(/\.[a-z]\w{0,4}$/i, '')

const wordName = (word: string, folder: string): string => {
  const stem = stemOf(word)
  const isFolder = /^\.{0,2}$/.test(stem)
  if (!isFolder && (stem === word || !COMMON_FILES.test(stem))) return stem
  // The nearest parent folder with a distinctive name.
  const parts = resolve(folder, word).split(/[/\\]/)
  const folders = isFolder ? parts : parts.slice(0, -1)
  return folders.findLast(name => name !== '' && !COMMON_FOLDERS.test(name)) ?? FALLBACK
}

const plain = (text: string): string =>
  text.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || FALLBACK
