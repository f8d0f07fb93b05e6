import { createInterface, type Interface } from 'node:readline'
import type { CredentialFiles } from '../../auth/store/files.js'
import type { ProxyConfig, ServerConfig, UrlTransport } from '../../config/types.js'
import { readConfiguration } from '../shared/configuration.js'
import { CliError, EXIT } from '../shared/verb.js'

/** A server that requires a login. */
export interface SignInServer {
  readonly name: string
  readonly transport: UrlTransport
  readonly settings: NonNullable<ServerConfig['oauth']>
  /** Owner of a login made here: shared, or local programs. */
  readonly owner: string
  /** Store of its login. */
  readonly store: ProxyConfig['credentialStore']
}

/** Returns the server with a name in the configuration, or at an address. Throws a CliError. */
export const findServer = async (name: string, config: string | undefined): Promise<SignInServer> => {
  if (/^(?:https?|wss?):\/\//i.test(name) && URL.canParse(name)) {
    const kind = /^ws/i.test(name) ? 'ws' : 'auto'
    return { name, transport: { kind, url: name, headers: {} }, settings: {}, owner: 'shared', store: 'file' }
  }
  const { servers, credentialStore } = await readConfiguration(config)
  const server = servers.find(one => one.name === name)
  if (server !== undefined) return signInAt(server, credentialStore)
  const { suggest } = await import('../../config/schema/suggest.js')
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

/** Throws a CliError for a server without a login. */
const signInAt = (
  { name, transport, oauth, credentials }: ServerConfig,
  store: ProxyConfig['credentialStore'],
): SignInServer => {
  const owner = credentials === 'shared' ? 'shared' : 'local'
  if ('url' in transport && oauth !== undefined) return { name, transport, settings: oauth, owner, store }
  throw new CliError(EXIT.usage, `${name} does not take a login: ${obstacleOf(transport)}`)
}

const obstacleOf = (transport: ServerConfig['transport']): string => {
  if (transport.kind === 'stdio') return 'it is a program'
  return 'url' in transport && transport.socketPath === undefined
    ? 'its login is turned off, or it has an Authorization header'
    : 'it is a local socket'
}

/** Opens the configured store of logins. */
export const openStore = async (kind: ProxyConfig['credentialStore']): Promise<CredentialFiles> => {
  const [{ openCredentials }, { stateDir }, { createLogger }] = await Promise.all([
    import('../../auth/store/files.js'),
    import('../../state/state-key.js'),
    import('../../telemetry/logs/logger.js'),
  ])
  const log = await createLogger({ level: 'warn', isTerminal: process.stderr.isTTY })
  return await openCredentials(stateDir(process.env), { kind, log })
}

/** Options of a login. */
export interface SignInCommandOptions {
  readonly usesBrowser: boolean
  readonly wantsDevice: boolean
  readonly forgetsClient: boolean
  readonly timeoutMs: number
  readonly print: (line: string) => void
  /** Reads the address that the user pastes; stdin by default. */
  readonly readLines?: () => AsyncIterable<string>
}

/** Signs in to a server. Resolves with the granted scopes and whether the login renews itself. */
export const signIn = async (
  { name, transport, settings, owner, store: kind }: SignInServer,
  how: SignInCommandOptions,
) => {
  const [{ logIn }, store] = await Promise.all([import('../../auth/store/login.js'), openStore(kind)])
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

/** Returns the servers of a configuration that require a login. */
export const signInServers = ({ servers, credentialStore }: ProxyConfig): readonly SignInServer[] =>
  servers.flatMap(server =>
    'url' in server.transport && server.oauth !== undefined ? [signInAt(server, credentialStore)] : [],
  )
