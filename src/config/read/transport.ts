import { resolve } from 'node:path'
import { parseSocketUrl } from '../../kernel/machine/socket-path.js'
import type { ProblemText } from '../file/problem.js'
import { bareRecord, elements, members, type TreeItem } from '../file/tree.js'
import { type TransportType, transportTypeOf } from '../schema/transport-type.js'
import type { Environment, ServerTransport, ServerWritten, SocketTransport, UrlTransport } from '../types.js'
import type { ReadContext, ServerEntry } from './entry.js'
import { readServerEnvFile, type ServerEnvFile } from './env-file.js'
import { readForwardHeaders, readNetwork } from './network.js'
import { isShellScript } from './shell-script.js'
import { expandedAddress, withUrlLogin } from './url-login.js'
import { expanded, expandedPath, withoutWorkspace } from './variables.js'

/** The transport of a server, resolved and as written. */
export interface Reach {
  readonly transport: ServerTransport
  readonly written: ServerWritten
  /** Set if it runs in the folder of a client. */
  readonly usesWorkspace?: boolean
}

/** Reads the transport of a server; undefined after it reported errors. */
export function readReach(entry: ServerEntry, context: ReadContext): Reach | undefined {
  const command = entry.members.get('command')
  const url = entry.members.get('url')
  const { report } = context
  if (command !== undefined && url !== undefined) {
    const words = { message: '"command" and "url" exclude each other', fix: 'Keep one of the two.' }
    report.nameError(entry.item, words)
    return undefined
  }
  const type = entry.members.get('type') ?? entry.item
  const kind = readType(entry, context)
  if (kind === 'unknown') return undefined
  if (command !== undefined) {
    if (kind === undefined || kind === 'stdio') return readStdio(entry, command, context)
    report.error(type, { message: 'this type needs "url", not "command"', fix: TYPE_FIX })
    return undefined
  }
  if (url !== undefined) {
    if (kind !== 'stdio') return readUrl(entry, url, kind === 'remote' ? undefined : kind, context)
    report.error(type, { message: 'this type needs "command", not "url"', fix: TYPE_FIX })
    return undefined
  }
  report.nameError(entry.item, {
    message: 'neither "command" nor "url" is given',
    fix: 'Write "command" for a program to start, or "url" for a server that runs elsewhere.',
  })
  return undefined
}

/** Reads the name of a transport in any spelling; `unknown` after it reported an error. */
const readType = (entry: ServerEntry, { report }: ReadContext): TransportType | 'unknown' | undefined => {
  const { type } = entry.values
  if (type === undefined) return undefined
  const kind = transportTypeOf(type)
  if (kind !== undefined) return kind
  report.error(entry.members.get('type') ?? entry.item, {
    message: 'this value is not allowed here',
    fix: UNKNOWN_TYPE_FIX,
  })
  return 'unknown'
}

const TYPE_FIX = 'Remove "type", or write the key that it needs.'
const UNKNOWN_TYPE_FIX = 'Write "stdio", "http", "sse" or "ws", or leave it out.'

const readStdio = (entry: ServerEntry, command: TreeItem, outer: ReadContext): Reach => {
  const workspace = { isUsed: entry.values.sharing === 'workspace' }
  const context = { ...outer, workspace }
  warnIgnored(entry, ['headers', 'forwardHeaders'], 'programs do not take headers', context)
  warnIgnored(entry, ['proxy', 'tls'], 'a program makes its own connections', context)
  const { values } = entry
  const argsItem = entry.members.get('args')
  const args = argsItem ? elements(argsItem) : []
  if (args.length === 0) warnOfSpaces(command, context)
  const cwd = entry.members.get('cwd')
  const envFileItem = entry.members.get('envFile')
  const envFile = envFileItem && readServerEnvFile(envFileItem, outer)
  const { env, unsetEnv } = readEnv(entry.members.get('env'), envFile?.values ?? {}, context)
  const inProgram = { ...context, own: env }
  const program = { command: expandedPath(command, inProgram), args: readArgs(command, args, inProgram) }
  const folder = cwd && folderIn(expandedPath(cwd, inProgram), context)
  return {
    transport: {
      kind: 'stdio',
      ...program,
      env,
      unsetEnv,
      ...(values.inheritEnv === true && { inheritEnv: true }),
      cwd: folder ?? (workspace.isUsed ? '${workspaceFolder}' : context.programFolder),
    },
    usesWorkspace: workspace.isUsed,
    written: {
      command: String(command.node.value),
      args: values.args ?? [],
      ...writtenPlaces(values.cwd, envFile),
    },
  }
}

/** Expands arguments. A script for a shell keeps the variables of the program, which the shell expands. */
const readArgs = (
  command: TreeItem,
  args: readonly TreeItem[],
  context: ReadContext & { readonly own: Environment },
): readonly string[] => {
  const kept = Object.keys(context.own).map((name): [string, string] => [name, `\${${name}}`])
  const inScript = { ...context, own: bareRecord(kept) }
  const words = [command, ...args].map(({ node }) => String(node.value))
  return words
    .slice(1)
    .map((word, at) => expanded(word, args[at] ?? command, isShellScript(words, at + 1) ? inScript : context))
}

const writtenPlaces = (cwd: string | undefined, envFile: ServerEnvFile | undefined): ServerWritten => ({
  ...(cwd && { cwd }),
  ...(envFile && { envFile: { path: envFile.path, names: Object.keys(envFile.values) } }),
})

/** Resolves a path relative to the file, unless it begins with the folder of a client. */
const folderIn = (path: string, { folder }: ReadContext): string =>
  /^\$\{(?:workspaceFolder|cwd)\}/.test(path) ? path : resolve(folder, path)

/** Reads `env`, which takes precedence over the variables of a file. */
const readEnv = (
  item: TreeItem | undefined,
  fromFile: Readonly<Record<string, string>>,
  context: ReadContext,
) => {
  const entries = item === undefined ? [] : [...members(item)]
  // Numbers stay as written: parsing would change 1.0 and 12345678901234567890.
  const written = ({ node }: TreeItem): string =>
    node.type === 'string' ? String(node.value) : context.text.slice(node.offset, node.offset + node.length)
  return {
    env: bareRecord([
      ...Object.entries(fromFile)
        .filter(([name]) => !members(item).has(name))
        .map(([name, value]): [string, string] => [name, withoutWorkspace(value)]),
      ...entries
        .filter(([, value]) => value.node.type !== 'null')
        .map(([name, value]): [string, string] => [name, expanded(written(value), value, context)]),
    ]),
    unsetEnv: entries.filter(([, value]) => value.node.type === 'null').map(([name]) => name),
  }
}

const warnOfSpaces = (command: TreeItem, { report }: ReadContext): void => {
  const [program, ...rest] = String(command.node.value).trim().split(/\s+/)
  // With a slash in its first word it is most likely a path that contains a space.
  if (program === undefined || rest.length === 0 || /[/\\]/.test(program)) return
  // Only a plain word is repeated: A=b may be a secret.
  const example = /^[\w.@+-]+$/.test(program) ? `"command": "${program}"` : 'only the program into "command"'
  report.warning(command, {
    message: 'this is read as the name of one program, with spaces',
    fix: `Write ${example} and each further word into "args".`,
  })
}

const readUrl = (
  entry: ServerEntry,
  item: TreeItem,
  type: UrlTransport['kind'] | undefined,
  context: ReadContext,
): Reach | undefined => {
  const { report } = context
  warnIgnored(entry, ['args', 'env', 'envFile', 'inheritEnv', 'cwd'], 'only a program has this', context)
  warnOfOthers(entry, item, context)
  const troubles = (): number => report.errors + (context.lacks?.length ?? 0)
  const before = troubles()
  const url = expandedAddress(item, context)
  const address = troubles() === before ? readTransportAddress(url, type) : undefined
  const written = { url: String(item.node.value) }
  if (address?.is === 'wrong') report.error(item, address.words)
  if (address?.is === 'socket') return { transport: readLineSocket(entry, address.path, context), written }
  const headers = readHeaders(entry, context)
  if (address?.is === 'http-socket')
    return { transport: readHttpSocket(entry, address, headers, context), written }
  if (address?.is !== 'url') return undefined
  const login = withUrlLogin(url, headers)
  if (login.hasBoth === true) report.error(item, TWO_LOGINS)
  return { transport: { kind: address.kind, ...login, ...readNetwork(entry, url, context) }, written }
}

const warnOfOthers = (entry: ServerEntry, item: TreeItem, { report }: ReadContext): void => {
  for (const other of ['url', 'serverUrl', 'httpUrl']) {
    const same = entry.members.get(other)
    if (same === undefined || same === item) continue
    report.nameWarning(same, { message: 'ignored, because another address is given', fix: 'Keep one.' })
  }
}

const readLineSocket = (entry: ServerEntry, path: string, context: ReadContext): SocketTransport => {
  const why = 'sockets take headers only with a path after "#" in the address, for HTTP'
  warnIgnored(entry, ['headers', 'forwardHeaders'], why, context)
  warnIgnored(entry, ['proxy', 'tls'], SOCKET_IS_LOCAL, context)
  return { kind: 'socket', path }
}

const readHttpSocket = (
  entry: ServerEntry,
  { kind, url, socketPath }: HttpSocketAddress,
  headers: UrlTransport['headers'],
  context: ReadContext,
): UrlTransport => {
  warnIgnored(entry, ['proxy', 'tls'], SOCKET_IS_LOCAL, context)
  return { kind, url, socketPath, headers, ...readForwardHeaders(entry, url, context) }
}

const SOCKET_IS_LOCAL = 'a socket is on this machine'

const TWO_LOGINS: ProblemText = {
  message: 'this address has a user and password, and "headers" has an Authorization header',
  fix: 'Keep one of the two.',
}

const readHeaders = (entry: ServerEntry, context: ReadContext): UrlTransport['headers'] => {
  const headers = entry.members.get('headers')
  const read = headers === undefined ? [] : [...members(headers)]
  return bareRecord(read.map(([name, value]): [string, string] => [name, readHeader(value, context)]))
}

const readHeader = (item: TreeItem, context: ReadContext): string => {
  const value = expanded(String(item.node.value), item, context)
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    context.report.error(item, {
      message: 'this contains a line break or a character that is not allowed in headers',
      fix: 'Remove it here or from the variable.',
    })
  }
  return value
}

const warnIgnored = (
  entry: ServerEntry,
  keys: readonly string[],
  why: string,
  { report }: ReadContext,
): void => {
  for (const key of keys) {
    const item = entry.members.get(key)
    if (item !== undefined) report.nameWarning(item, { message: `ignored: ${why}`, fix: 'Remove it.' })
  }
}

/** The transport for an address, or the problem with it, which does not repeat the address. */
export type TransportAddress =
  | { readonly is: 'url'; readonly kind: UrlTransport['kind'] }
  /** One message per line. */
  | { readonly is: 'socket'; readonly path: string }
  | HttpSocketAddress
  | { readonly is: 'wrong'; readonly words: ProblemText }

type SocketKind = 'http' | 'sse' | 'auto'

interface HttpSocketAddress {
  readonly is: 'http-socket'
  readonly kind: SocketKind
  /** On `localhost`. */
  readonly url: string
  readonly socketPath: string
}

const SCHEMES = {
  auto: ['http:', 'https:'],
  http: ['http:', 'https:'],
  sse: ['http:', 'https:'],
  ws: ['ws:', 'wss:'],
} as const satisfies Record<UrlTransport['kind'], readonly string[]>

const NO_ADDRESS: ProblemText = {
  message: 'this is not the address of a server',
  fix: 'Write a whole address, such as "https://example.com/mcp".',
}

const NO_SOCKET: ProblemText = {
  message: 'this is not the address of a socket',
  fix: 'Write "unix:///" and its absolute path, or "pipe:///" and the name of a pipe.',
}

const NO_TARGET: ProblemText = {
  message: 'a socket carries HTTP only if its address names a path after "#"',
  fix: 'Append "#/mcp", or remove "type" for a server that reads one message per line.',
}

const UNKNOWN_SCHEME: ProblemText = {
  message: 'the scheme of this address is not supported',
  fix: 'Write an address that begins with "http://", "https://", "ws://", "wss://", "unix:/" or "pipe:///".',
}

const isSocketUrl = (url: string): boolean => /^(?:unix|pipe):/i.test(url)

/** Reads an address; without a `type` it decides about the transport. */
export const readTransportAddress = (
  url: string,
  type: UrlTransport['kind'] | undefined,
): TransportAddress => {
  if (type !== 'ws' && isSocketUrl(url)) return readSocketAddress(url, type)
  if (!URL.canParse(url)) return { is: 'wrong', words: NO_ADDRESS }
  const { protocol } = new URL(url)
  const speaks = (kind: UrlTransport['kind']): boolean =>
    (SCHEMES[kind] as readonly string[]).includes(protocol)
  if (type === undefined) {
    const kind = (['auto', 'ws'] as const).find(speaks)
    return kind === undefined ? { is: 'wrong', words: UNKNOWN_SCHEME } : { is: 'url', kind }
  }
  if (speaks(type)) return { is: 'url', kind: type }
  const schemes = SCHEMES[type].map(scheme => `"${scheme}//"`).join(' or ')
  return {
    is: 'wrong',
    words: {
      message: `the address of a server of type "${type}" must begin with ${schemes}`,
      fix: 'Change the address or "type".',
    },
  }
}

const readSocketAddress = (url: string, type: SocketKind | undefined): TransportAddress => {
  const { path, httpUrl } = parseSocketUrl(url) ?? {}
  if (path === undefined) return { is: 'wrong', words: NO_SOCKET }
  if (httpUrl !== undefined)
    return { is: 'http-socket', kind: type ?? 'auto', url: httpUrl, socketPath: path }
  return type === undefined ? { is: 'socket', path } : { is: 'wrong', words: NO_TARGET }
}
