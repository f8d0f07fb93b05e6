import { resolve } from 'node:path'
import { isLoopbackHost } from '../../kernel/loopback.js'
import type { ProblemText, Report } from '../file/problem.js'
import { itemAt, members, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { NO_FOREIGN_KEYS, warnUnknown } from '../schema/keys.js'
import type { AuthConfig, OAuthConfig, ServerConfig, ServerTransport } from '../types.js'
import type { ReadContext, ServerEntry } from './entry.js'
import { expandedPath, expandedWhole } from './variables.js'

/** Reads how the proxy signs in at a server; undefined if it does not. Reports conflicts. */
export const readLogin = (
  entry: ServerEntry,
  transport: ServerTransport,
  context: ReadContext,
): OAuthConfig | undefined => {
  const { oauth, credentials } = entry.values
  const obstacle = obstacleOf(transport)
  refuseUnfit(entry, obstacle, context)
  const item = typeof oauth === 'object' ? entry.members.get('oauth') : undefined
  const settings = item === undefined ? {} : readOAuth(item, context)
  if (credentials === 'per-principal' && isForMachines(settings))
    context.report.error(entry.members.get('credentials') ?? entry.item, NOT_FOR_MACHINES)
  return obstacle !== undefined || oauth === false ? undefined : settings
}

const refuseUnfit = (
  entry: ServerEntry,
  obstacle: ProblemText | undefined,
  { report }: ReadContext,
): void => {
  const { oauth = 'auto', credentials, sharing } = entry.values
  const refuse = (key: string, words: ProblemText | undefined): void => {
    const at = entry.members.get(key)
    if (at !== undefined && words !== undefined) report.error(at, words)
  }
  refuse('oauth', oauth === 'auto' || oauth === false ? undefined : obstacle)
  if (credentials !== 'per-principal') return
  refuse('credentials', obstacle ?? (oauth === false ? NO_LOGIN : undefined))
  refuse('sharing', sharing === 'all' ? NOT_FOR_ALL : undefined)
}

/** Warns about per-user logins if the proxy cannot identify users. */
export const checkUsers = (
  servers: ReadonlyMap<string, TreeItem>,
  { config, auth }: { readonly config: readonly ServerConfig[]; readonly auth: AuthConfig | undefined },
  report: Report,
): void => {
  const words = auth === undefined ? NO_USERS : canBeRecognized(auth) ? undefined : NO_BROWSERS
  if (words === undefined) return
  for (const { name, credentials } of config) {
    const item = servers.get(name)
    if (credentials === 'per-principal' && item !== undefined)
      report.warning(itemAt(item, ['credentials']), words)
  }
}

const canBeRecognized = ({ embedded, issuers, people }: AuthConfig): boolean =>
  issuers.length === 0 || embedded?.login !== undefined || people.some(({ tokens }) => tokens.length > 0)

const NO_USERS: ProblemText = {
  message: 'without "auth", programs on this machine are one user, and all other callers cannot sign in',
  fix: 'Add "auth", or write "shared".',
}

const NO_BROWSERS: ProblemText = {
  message: 'users with tokens of "auth.issuers" cannot identify themselves in a browser',
  fix: 'Add "auth.embedded" with "login", or personal tokens in "auth.people".',
}

/** Returns true for remote servers without an `Authorization` header. */
export const mayHaveLogin = (transport: ServerTransport): boolean => obstacleOf(transport) === undefined

/** The reason against an OAuth login; undefined if one is possible. */
const obstacleOf = (transport: ServerTransport): ProblemText | undefined => {
  if (transport.kind === 'stdio' || transport.kind === 'socket') return NOT_REMOTE
  if (transport.socketPath !== undefined) return NOT_REMOTE
  const hasToken = Object.keys(transport.headers).some(name => name.toLowerCase() === 'authorization')
  if (!hasToken) return undefined
  return transport.hasUrlLogin === true ? HAS_URL_LOGIN : HAS_TOKEN
}

const NOT_FOR_ALL: ProblemText = {
  message: 'a connection for all clients cannot have per-user credentials',
  fix: 'Write "principal" or "session", or leave it out.',
}

const isForMachines = ({ grant = 'authorization_code' }: OAuthConfig): boolean =>
  grant !== 'authorization_code' && grant !== 'device'

const NOT_FOR_MACHINES: ProblemText = {
  message: 'with this "grant" the proxy signs in as itself, not as its users',
  fix: 'Write "shared", or leave out "oauth.grant".',
}

const NO_LOGIN: ProblemText = {
  message: '"oauth" is false, so users cannot sign in',
  fix: 'Remove one of the two.',
}

const HAS_TOKEN: ProblemText = {
  message: 'an Authorization header is already configured',
  fix: 'Keep "oauth", or the header under "headers".',
}

const HAS_URL_LOGIN: ProblemText = {
  message: 'the address of the server has a user and password',
  fix: 'Remove this, or the user and password in "url".',
}

const NOT_REMOTE: ProblemText = {
  message: 'programs and local sockets do not use logins',
  fix: 'Remove it; pass secrets to a program in "env".',
}

const readOAuth = (item: TreeItem, context: ReadContext): OAuthConfig => {
  const found = members(item)
  const { idp, endpoints } = { idp: found.get('idp'), endpoints: found.get('endpoints') }
  warnUnknown(found, KEYS.oauth, NO_FOREIGN_KEYS, context.report)
  if (idp !== undefined) warnUnknown(members(idp), KEYS.idp, NO_FOREIGN_KEYS, context.report)
  if (endpoints !== undefined)
    warnUnknown(members(endpoints), KEYS.endpoints, NO_FOREIGN_KEYS, context.report)
  const text = (...path: string[]): string | undefined => {
    const at = itemAt(item, path)
    return at.node.type === 'string' ? expandedWhole(String(at.node.value), at, context) : undefined
  }
  const flag = (key: string): boolean => found.get(key)?.node.value === true
  const config: OAuthConfig = {
    clientId: text('clientId'),
    clientSecret: text('clientSecret'),
    issuer: address(item, ['issuer'], context),
    scopes: scopesIn(found.get('scopes')),
    redirectUri: text('redirectUri'),
    clientMetadataUrl: address(item, ['clientMetadataUrl'], context),
    grant: text('grant') as OAuthConfig['grant'],
    key: pathOrKey(found.get('key'), context),
    idp: idp && {
      issuer: address(idp, ['issuer'], context) ?? '',
      clientId: text('idp', 'clientId') ?? '',
      clientSecret: text('idp', 'clientSecret'),
      idToken: file(members(idp).get('idToken'), context) ?? '',
    },
    assertion: file(found.get('assertion'), context),
    resource: found.get('resource')?.node.value === false ? false : text('resource'),
    endpoints:
      endpoints && Object.fromEntries(KEYS.endpoints.map(key => [key, address(endpoints, [key], context)])),
    allowPrivate: flag('allowPrivate'),
    dpop: flag('dpop'),
  }
  checkTogether(config, item, context)
  return config
}

const scopesIn = (item: TreeItem | undefined): readonly string[] | undefined =>
  item?.node.children?.map(({ value }) => String(value))

/** Reads an address to which the proxy itself sends requests, so it must be HTTP. */
const address = (item: TreeItem, path: readonly string[], context: ReadContext): string | undefined => {
  const at = itemAt(item, path)
  if (at === item || at.node.type !== 'string') return undefined
  const { errors } = context.report
  const url = expandedWhole(String(at.node.value), at, context)
  if (context.report.errors === errors && !/^https?:\/\//i.test(URL.canParse(url) ? url : '')) {
    context.report.error(at, {
      message: 'this is not an HTTP address',
      fix: 'Write a whole address, such as "https://login.example.com".',
    })
  }
  return url
}

const file = (item: TreeItem | undefined, context: ReadContext): string | undefined =>
  item && resolve(context.folder, expandedPath(item, context))

/** Distinguishes a key, which has a PEM header, from a path. */
const pathOrKey = (item: TreeItem | undefined, context: ReadContext): string | undefined => {
  if (item === undefined) return undefined
  const text = expandedWhole(String(item.node.value), item, context)
  return text.includes('-----BEGIN') ? text : file(item, context)
}

const checkTogether = (config: OAuthConfig, item: TreeItem, { report }: ReadContext): void => {
  const { redirectUri, allowPrivate } = config
  const lack = lackOf(config)
  if (lack !== undefined) report.error(itemAt(item, ['grant']), lack)
  if (redirectUri !== undefined && !isListenable(redirectUri)) {
    report.error(itemAt(item, ['redirectUri']), {
      message: 'the proxy cannot listen on this address',
      fix: 'Write an address of this machine with a port, such as "http://localhost:3118/callback".',
    })
  }
  if (allowPrivate === true) {
    report.warning(itemAt(item, ['allowPrivate']), {
      message: 'the server may send the proxy to any address in its network',
      fix: 'Remove it, unless the authorization server has a private address.',
    })
  }
}

/** The keys that the grant lacks. */
const lackOf = ({
  grant,
  clientId,
  clientSecret,
  key,
  idp,
  assertion,
}: OAuthConfig): ProblemText | undefined => {
  const isClient = clientId !== undefined && (clientSecret ?? key) !== undefined
  if (grant === 'client_credentials' && !isClient) {
    return {
      message: 'this grant needs the credentials of the proxy',
      fix: 'Add "clientId", and "clientSecret" or "key".',
    }
  }
  if (grant === 'id-jag' && (idp === undefined || clientId === undefined)) {
    return {
      message: 'this grant needs an identity provider',
      fix: 'Add "clientId" and "idp".',
    }
  }
  if (grant !== 'jwt-bearer' || assertion !== undefined) return undefined
  return { message: 'this grant needs a token', fix: 'Add "assertion", the path of its file.' }
}

const isListenable = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' && isLoopbackHost(url.hostname) && url.port !== ''
}
