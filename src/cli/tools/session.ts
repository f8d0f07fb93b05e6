import { secretsOf } from '../../config/read/secrets.js'
import type { LogLevel, ProxyConfig, ServerConfig } from '../../config/types.js'
import type { DaemonClient } from '../../control/daemon/daemon-client.js'
import type { LocalClient, LocalClientOptions } from '../../control/local-client.js'
import { cause } from '../../diagnostics/explain.js'
import { Fault } from '../../kernel/faults.js'
import { silentLogger } from '../../kernel/logger.js'
import { addSecrets } from '../../kernel/secrets/mask.js'
import type { RuntimePaths } from '../../shim/place.js'
import type { ProxyStatus, ServerStatus } from '../../telemetry/status/status.js'
import { configFile, loadFile, readConfiguration } from '../shared/configuration.js'
import { callerHere, inProcess } from '../shared/in-process.js'
import { untilSignal, type WorkOutcome } from '../shared/until-signal.js'
import { CliError, causeError, EXIT } from '../shared/verb.js'
import { withLogins } from './logins.js'

export const aloneOption = {
  type: 'boolean',
  describe: 'Start copies of the servers even if a proxy of this configuration runs',
} as const

/** The proxy that a verb uses: the running one, or one in this process. */
export interface ProxySession {
  readonly client: Pick<LocalClient, 'list' | 'request'>
  readonly status: () => readonly ServerStatus[] | Promise<readonly ServerStatus[]>
  /** Servers of the configuration file. */
  readonly servers: readonly ServerConfig[]
  /** See `withLogins`. */
  readonly mayHelp: (server: string) => boolean
}

export interface CliSessionOptions extends Pick<LocalClientOptions, 'onProgress'> {
  readonly verb: string
  readonly config: string | undefined
  readonly alone: boolean | undefined
  readonly login: boolean | undefined
  readonly level: LogLevel
  /** Selects the servers that a proxy in this process starts; all by default. */
  readonly choose?: (servers: readonly ServerConfig[]) => readonly ServerConfig[]
}

/** Returns whether a server is usable; an idle server in a running proxy starts with its next call. */
export const isWell = ({ state }: Pick<ServerStatus, 'state'>): boolean =>
  state === 'ready' || state === 'idle'

type Work = (session: ProxySession) => Promise<WorkOutcome>

/**
 * Runs work against the running proxy of a configuration or, without one, against copies of its servers in
 * this process. Resolves with the exit code of `work` or of the signal that ended it.
 */
export const inSession = async (options: CliSessionOptions, work: Work): Promise<number> => {
  const { alone = false, config: flag, login } = options
  const place = alone ? undefined : await occupiedPlace(configFile(flag))
  if (place !== undefined) {
    const { config } = await loadFile(configFile(flag))
    if (config !== undefined) addSecrets(secretsOf(config))
    const atIt = (mayHelp: ProxySession['mayHelp']): Promise<number> =>
      atDaemon(place, options, session => work({ ...session, servers: config?.servers ?? [], mayHelp }))
    return config === undefined ? await atIt(() => false) : await withLogins(config, login, atIt)
  }
  const config = await readConfiguration(flag)
  const { servers } = config
  const chosen = options.choose?.(servers) ?? servers
  const asked: ProxyConfig = chosen.length === 0 ? config : { ...config, servers: chosen }
  return await withLogins(config, login, mayHelp =>
    inProcess(asked, { ...options, caller: callerHere() }, session => work({ ...session, servers, mayHelp })),
  )
}

/**
 * Returns the place of a configuration's running proxy, or undefined if none answers. Rejects with a CliError
 * if the proxy hangs.
 */
const occupiedPlace = async (file: string): Promise<RuntimePaths | undefined> => {
  const [{ occupantOf }, { placeId, placeOf, thisMachine }] = await Promise.all([
    import('../../control/daemon/daemon-lock.js'),
    import('../../shim/place.js'),
  ])
  const machine = thisMachine()
  const place = placeOf(placeId(file, machine.at), process.env, machine)
  try {
    return (await occupantOf(place)) && place
  } catch (thrown) {
    // After any other error, the daemon's state is unknown.
    if (!(thrown instanceof Fault) || thrown.code !== 'timeout') return undefined
    throw causeError(EXIT.failure, cause('cli.silent-daemon', { why: thrown.message }))
  }
}

/** Runs work as a client of the proxy at a place. */
const atDaemon = async (
  place: RuntimePaths,
  { verb, onProgress }: CliSessionOptions,
  work: (session: Pick<ProxySession, 'client' | 'status'>) => ReturnType<Work>,
): Promise<number> => {
  const [{ DaemonClient: Client }, { askDaemon }, { asking }] = await Promise.all([
    import('../../control/daemon/daemon-client.js'),
    import('../../shim/ask.js'),
    import('../../control/daemon/daemon-lock.js'),
  ])
  let client: DaemonClient | undefined
  const close = (): Promise<void> => {
    client?.close()
    return Promise.resolve()
  }
  return await untilSignal({ close, log: silentLogger }, async () => {
    client = await Client.open(place, { name: `mcp-proxy ${verb}`, onProgress })
    if (client === undefined) throw new CliError(EXIT.failure, 'the running proxy has just ended')
    const status = async (): Promise<readonly ServerStatus[]> => {
      const { body } = await askDaemon(asking(place), '/v1/status')
      return (JSON.parse(body) as ProxyStatus).servers
    }
    return await work({ client, status })
  })
}
