import { createInterface, type Interface } from 'node:readline'
import type { CredentialFiles } from '../../../auth/store/files.js'
import type { ProxyConfig, ServerConfig, UrlTransport } from '../../../config/types.js'
import { readConfiguration } from '../../configuration.js'
import { CliError, EXIT } from '../../verb.js'

/** A server at which people sign in. */
export interface SignInServer {
  readonly name: string
  readonly transport: UrlTransport
  readonly settings: NonNullable<ServerConfig['oauth']>
  /** Whose login can be made here: that which all share, or that of programs of this machine. */
  readonly owner: string
  /** Where its login is kept. */
  readonly store: ProxyConfig['credentialStore']
}

/** The server of a name in the configuration, or of an address. Throws a CliError. */
export const findServer = async (name: string, config: string | undefined): Promise<SignInServer> => {
  if (/^(?:https?|wss?):\/\//i.test(name) && URL.canParse(name)) {
    const kind = /^ws/i.test(name) ? 'ws' : 'auto'
    return { name, transport: { kind, url: name, headers: {} }, settings: {}, owner: 'shared', store: 'file' }
  }
  const { servers, credentialStore } = await readConfiguration(config)
  const server = servers.find(one => one.name === name)
  if (server !== undefined) return signInAt(server, credentialStore)
  const { suggest } = await import('../../../config/schema/suggest.js')
  const meant = suggest(
    name,
    servers.map(one => one.name),
  )
  throw new CliError(
    EXIT.usage,
    `there is no server ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    { why: `the configuration has ${servers.map(one => one.name).join(', ')}` },
  )
}

/** Throws a CliError for a server that has no login. */
const signInAt = (
  { name, transport, oauth, credentials }: ServerConfig,
  store: ProxyConfig['credentialStore'],
): SignInServer => {
  const owner = credentials === 'shared' ? 'shared' : 'local'
  if ('url' in transport && oauth !== undefined) return { name, transport, settings: oauth, owner, store }
  const why =
    'url' in transport ? 'its login is turned off, or it has an Authorization header' : 'it is a program'
  throw new CliError(EXIT.usage, `${name} is not signed in at: ${why}`)
}

/** The store of logins, as a configuration has it. */
export const openStore = async (kind: ProxyConfig['credentialStore']): Promise<CredentialFiles> => {
  const [{ openCredentials }, { stateDir }, { createLogger }] = await Promise.all([
    import('../../../auth/store/files.js'),
    import('../../../state/state-key.js'),
    import('../../../telemetry/logs/logger.js'),
  ])
  const log = await createLogger({ level: 'warn', isTerminal: process.stderr.isTTY })
  return await openCredentials(stateDir(process.env), { kind, log })
}

/** How a person wants to sign in. */
export interface SignInCommandOptions {
  readonly usesBrowser: boolean
  readonly wantsDevice: boolean
  readonly forgetsClient: boolean
  readonly timeoutMs: number
  readonly say: (line: string) => void
  /** Reads the address that the person pastes; from stdin if absent. */
  readonly readLines?: () => AsyncIterable<string>
}

/** Signs in at a server. Resolves with the granted scopes and whether the login renews itself. */
export const signIn = async (
  { name, transport, settings, owner, store: kind }: SignInServer,
  how: SignInCommandOptions,
) => {
  const [{ logIn }, store] = await Promise.all([import('../../../auth/store/login.js'), openStore(kind)])
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY
  let lines: Interface | undefined
  const readLines = (): Interface => {
    lines = createInterface({ input: process.stdin })
    return lines
  }
  try {
    const login = { server: name, transport, settings, owner, store }
    return await logIn({ ...login, ...{ isTerminal, readLines, ...how } })
  } finally {
    if (lines !== undefined) process.stdin.destroy()
    lines?.close()
  }
}

/** The servers of a configuration at which people sign in. */
export const signInServers = ({ servers, credentialStore }: ProxyConfig): readonly SignInServer[] =>
  servers.flatMap(server =>
    'url' in server.transport && server.oauth !== undefined ? [signInAt(server, credentialStore)] : [],
  )
