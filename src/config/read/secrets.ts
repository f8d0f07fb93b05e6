import type { ForwardProxy, ProxyRules } from '../../kernel/machine/forward-proxy.js'
import { socketUrlOf } from '../../kernel/machine/socket-path.js'
import type { TlsSettings } from '../../kernel/machine/tls-settings.js'
import { isLikeKey, isPlain, isSecretName, MASK, maskAddress, maskShapes } from '../../kernel/secrets/mask.js'
import { bareRecord } from '../file/tree.js'
import type {
  AuthConfig,
  OAuthConfig,
  ProxyConfig,
  ServerConfig,
  ServerTransport,
  UrlTransport,
} from '../types.js'
import { withoutDefaults } from './variables.js'

/** Variables of the system or shell: not secret, and part of most paths and log lines. */
const SYSTEM_NAME =
  /^(?:PATH|HOME|userHome|(?:OLD)?PWD|USER(?:NAME|PROFILE)?|LOGNAME|HOST(?:NAME)?|SHELL|SHLVL|TERM|COLORTERM|LS_COLORS|LANG(?:UAGE)?|LC_\w+|TZ|TMP|TEMP|TMPDIR|DISPLAY|EDITOR|PAGER|XDG_\w+|SSH_(?:CLIENT|CONNECTION|TTY)|(?:LOCAL)?APPDATA|PROGRAM\w+|COMPUTERNAME|COMSPEC|SYSTEM\w+|HOMEDRIVE|HOMEPATH|PATHEXT|npm_(?:package|lifecycle|node|command|execpath)\w*)$/i

/** Values that are not secret: addresses of this machine, ports, flags. */
const COMMON = /^(?:localhost|\[?::1\]?|127(?:\.\d+){3}|0\.0\.0\.0|\d{1,5}|true|false)$/

/** Returns values of variables, `env` and `headers`, secret arguments, parts of addresses, and keys. */
export const secretsOf = ({
  servers,
  stateKeys,
  auth,
  variables,
  metrics,
  tracing,
  audit,
  cluster,
  proxy,
}: ProxyConfig): readonly string[] => {
  const expanded = variables.filter(({ name, value }) => !SYSTEM_NAME.test(name) && !COMMON.test(value))
  const all = [
    ...expanded.flatMap(({ value }) => [value, ...inAddress(value)]),
    ...stateKeys,
    ...(metrics?.token === undefined ? [] : [metrics.token]),
    ...[tracing, audit?.otlp].flatMap(one =>
      typeof one === 'object' ? [...inAddress(one.endpoint), ...inValues(one.headers)] : [],
    ),
    ...(cluster === undefined ? [] : [...cluster.keys, ...inAddress(cluster.url)]),
    ...inAuth(auth),
    ...inProxies(proxy),
    ...servers.flatMap(({ transport, oauth, written }) => [
      ...inTransport(transport, written?.envFile?.names),
      ...inOAuth(oauth),
    ]),
  ]
  // Errors about a server begin with its name.
  const names = new Set(servers.map(({ name }) => name))
  return all.filter(value => value !== '' && !names.has(value))
}

const inAuth = (auth: AuthConfig | undefined): readonly string[] =>
  [
    auth?.embedded?.login?.clientSecret,
    ...(auth?.issuers ?? []).map(each => each.introspection?.clientSecret),
  ].filter(secret => secret !== undefined)

const inOAuth = ({ clientSecret, key, idp }: OAuthConfig = {}): readonly string[] =>
  [clientSecret, idp?.clientSecret, key?.includes('-----BEGIN') === true ? key : undefined].filter(
    secret => secret !== undefined,
  )

const inTransport = (transport: ServerTransport, fromFile: readonly string[] = []): readonly string[] => {
  if (transport.kind === 'socket') return []
  if (transport.kind !== 'stdio') return inRemote(transport)
  const { args, env } = transport
  const secret = fromFile.filter(name => !SYSTEM_NAME.test(name) && !COMMON.test(env[name] ?? ''))
  return [...inValues(env), ...secret.map(name => env[name] ?? ''), ...args.flatMap(inArgument)]
}

const inRemote = ({ url, headers, proxy, tls = {} }: UrlTransport): readonly string[] => [
  ...inAddress(url),
  ...inValues(headers),
  ...inProxies(proxy),
  ...[tls.key, tls.passphrase].filter(secret => secret !== undefined),
]

const inProxies = ({ http, https }: ProxyRules = {}): readonly string[] =>
  [http, https].flatMap(proxy => (proxy === undefined ? [] : inAddress(proxy.url)))

const inValues = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) => {
    if (SYSTEM_NAME.test(name) || (isPlain(value) && !isSecretName(name))) return []
    return isAddress(value) ? inAddress(value) : [value, ...inCredentials(value)]
  })

/** The credentials that `Basic` encodes (RFC 7617 §2). */
const inCredentials = (header: string): readonly string[] => {
  const [, encoded] = /^Basic\s+(\S+)$/i.exec(header) ?? []
  return encoded === undefined ? [] : inLogin(Buffer.from(encoded, 'base64').toString())
}

const inLogin = (login: string): readonly string[] => {
  const [user = '', ...password] = login.split(':')
  return password.length === 0 ? [login] : [login, password.join(':'), ...(isPlain(user) ? [] : [user])]
}

const isAddress = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text)

/** Returns passwords, keys in the path, and query values of an address; nothing for other texts. */
const inAddress = (text: string): readonly string[] => {
  const [, login = '', path = '', query = ''] =
    /^[a-z][a-z0-9+.-]*:\/\/(?:([^/?#]*)@)?[^/?#]*([^?#]*)\??([^#]*)/is.exec(text) ?? []
  const plain = decoded(login)
  const logins =
    plain === '' ? [] : [...inLogin(login), ...inLogin(plain), Buffer.from(plain).toString('base64')]
  const values = query.split('&').map(pair => pair.slice(pair.indexOf('=') + 1))
  return [...logins, ...path.split('/').filter(isLikeKey), ...values, ...values.map(decoded)]
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const inArgument = (arg: string, at: number, args: readonly string[]): readonly string[] => {
  const { value, isSecret } = splitArgument(arg, at, args)
  // A whole command line, as after `sh -c`.
  const words = arg.split(/\s+/)
  const inWords = words.length === 1 ? inAddress(value) : words.flatMap(inArgument)
  return isSecret ? [value, ...inWords] : inWords
}

/** An argument: the part that may be shown, and its value, which is secret or may be an address. */
interface Argument {
  readonly open: string
  readonly value: string
  readonly isSecret: boolean
}

const isSecretFlag = (arg = ''): boolean => /^--?[\w-]+$/.test(arg) && isSecretName(arg)

/** Splits an argument: the text after `--token`, `KEY=` and the like is secret. */
export const splitArgument = (arg: string, at: number, args: readonly string[]): Argument => {
  const parts = /^(([\w-]+)(?:=|: ))(.*)$/s.exec(arg)
  const followsFlag = isSecretFlag(args[at - 1]) && !arg.startsWith('--')
  if (followsFlag || parts === null) return { open: '', value: arg, isSecret: followsFlag }
  const [, open = '', name = '', value = ''] = parts
  // A variable, as in `docker run -e KEY=x`, or a header.
  const isNamed = /^[A-Z][A-Z\d_]*=$|: $/.test(open)
  const isSecret = isSecretName(name) || (isNamed && !isPlain(value) && !isAddress(value))
  return { open, value, isSecret: isSecret && value !== '' }
}

function redactArgs(args: readonly string[]): readonly string[] {
  return args.map((arg, at) => {
    const { open, value, isSecret } = splitArgument(arg, at, args)
    return open + (isSecret ? MASK : maskShapes(value))
  })
}

const masked = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  bareRecord(Object.keys(values).map((name): [string, string] => [name, MASK]))

const maskedOAuth = ({ clientSecret, key, idp, ...open }: OAuthConfig): OAuthConfig => ({
  ...open,
  ...(clientSecret !== undefined && { clientSecret: MASK }),
  ...(key !== undefined && { key: MASK }),
  ...(idp !== undefined && {
    idp: { ...idp, ...(idp.clientSecret !== undefined && { clientSecret: MASK }) },
  }),
})

const maskedProxies = ({ http, https, exempt }: ProxyRules): ProxyRules => {
  const shown = (proxy: ForwardProxy): ForwardProxy => ({ ...proxy, url: maskAddress(proxy.url) })
  return { http: http && shown(http), https: https && shown(https), exempt }
}

const maskedTls = ({ key, passphrase, ...open }: TlsSettings): TlsSettings => ({
  ...open,
  ...(key !== undefined && { key: MASK }),
  ...(passphrase !== undefined && { passphrase: MASK }),
})

/** Returns the address of a server as users write it. */
const urlOf = ({ url, socketPath }: UrlTransport): string =>
  socketPath === undefined ? url : socketUrlOf(socketPath, url)

const redactRemote = (
  { headers, proxy, tls, socketPath, ...open }: UrlTransport,
  url: string,
): UrlTransport => ({
  ...open,
  url,
  headers: masked(headers),
  ...(socketPath !== undefined && { socketPath: url }),
  ...(proxy && { proxy: maskedProxies(proxy) }),
  ...(tls && { tls: maskedTls(tls) }),
})

/** A server as it may be shown: variables without their values, `env` and `headers` masked. */
export function redactServer({ written = {}, ...server }: ServerConfig): ServerConfig {
  const { transport } = server
  if (transport.kind === 'socket') {
    return { ...server, transport: { ...transport, path: withoutDefaults(written.url ?? transport.path) } }
  }
  if (transport.kind !== 'stdio') {
    const url = maskAddress(withoutDefaults(written.url ?? urlOf(transport)))
    const oauth = server.oauth && maskedOAuth(server.oauth)
    return { ...server, oauth, transport: redactRemote(transport, url) }
  }
  // A command may be a whole command line, if a wrong one.
  const words = withoutDefaults(written.command ?? transport.command).split(' ')
  const command = redactArgs(words).join(' ')
  const cwd = written.cwd === undefined ? transport.cwd : withoutDefaults(written.cwd)
  const args = redactArgs((written.args ?? transport.args).map(withoutDefaults))
  return { ...server, transport: { ...transport, command, args, cwd, env: masked(transport.env) } }
}
