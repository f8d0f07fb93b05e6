import { isSamePath } from '../../config/file/watch.js'
import { cause } from '../../diagnostics/explain.js'
import type { Opened } from '../../shim/ask.js'
import { configPath } from '../../shim/place.js'
import type { InstanceRecord } from '../../state/instance.js'
import { configTarget } from './configuration.js'
import { CliError, causeError, EXIT, textOption } from './verb.js'

const LIMIT_MS = 5000

/** The user's running proxies that match a verb's flags, and the selected one. */
export interface ProxyChoice {
  /** Undefined if none or several match. */
  readonly one: InstanceRecord | undefined
  readonly all: readonly InstanceRecord[]
}

export const pidOption = textOption('The process id of the proxy, if several run')

/**
 * Selects a running proxy: by process id; else the daemon of this configuration, of `MCP_PROXY_CONFIG` or of
 * the user's own file; else the only one.
 */
export const chooseRunning = async (config: string | undefined, pid?: string): Promise<ProxyChoice> => {
  const { runningProxies } = await import('../../state/processes/orphans.js')
  const all = await runningProxies()
  const meant = all.filter(
    one => (pid === undefined || String(one.pid) === pid) && (config === undefined || runsWith(one, config)),
  )
  const file = configTarget(config)
  // The user's own file and the variable select among several proxies, but do not hide the only one.
  const sameFile = meant.filter(one => runsWith(one, file))
  const [found] = [sameFile.filter(({ verb }) => verb === 'serve'), sameFile, meant].filter(isOne)
  return { one: found?.[0], all: meant }
}

const isOne = (all: readonly unknown[]): boolean => all.length === 1

/** Returns the running proxy that a verb means. Rejects with a CliError unless exactly one matches. */
export const theRunning = async (config: string | undefined, pid?: string): Promise<InstanceRecord> => {
  const { one, all } = await chooseRunning(config, pid)
  if (one !== undefined) return one
  if (all.length === 0) throw causeError(EXIT.failure, cause('cli.no-proxy', {}))
  throw severalRun(all)
}

export const severalRun = (all: readonly InstanceRecord[]): CliError => {
  const list = all.map(each => `  ${runningName(each)}`).join('\n')
  return new CliError(EXIT.usage, `several proxies run; choose one with --config or --pid:\n${list}`)
}

/** Returns whether a proxy uses a configuration, under any path of its folder. */
export const runsWith = (one: InstanceRecord, file: string): boolean =>
  one.config !== undefined && isSamePath(configPath(one.config), configPath(file))

export const runningName = ({ verb, pid, url, config }: InstanceRecord): string =>
  [`${verb}, pid ${pid}`, url, config].filter(part => part !== undefined).join(', ')

/** Sends a request to a proxy's private socket; a body makes it a POST. Throws a CliError. */
export const askRunning = async (one: InstanceRecord, target: string, body?: string): Promise<string> => {
  const options = await optionsOf(one)
  const { askDaemon } = await import('../../shim/ask.js')
  const reply = await askDaemon(options, target, body).catch((thrown: unknown) => unreachable(one, thrown))
  if (reply.status === 200) return reply.body
  throw new CliError(EXIT.failure, `${runningName(one)} says: ${errorIn(reply.body)}`)
}

/** Opens a streaming request at a proxy's private socket. Throws a CliError. */
export const followRunning = async (one: InstanceRecord, target: string): Promise<Opened> => {
  const options = await optionsOf(one)
  const { follow } = await import('../../shim/ask.js')
  return await follow(options, target).catch((thrown: unknown) => unreachable(one, thrown))
}

const optionsOf = async (one: InstanceRecord) => {
  const { asking } = await import('../../control/daemon/daemon-lock.js')
  const { socket, token } = one
  if (socket === undefined)
    throw new CliError(EXIT.failure, `the running proxy cannot be queried: ${runningName(one)}`)
  return asking({ socket, token }, LIMIT_MS)
}

const unreachable = (one: InstanceRecord, thrown: unknown): never => {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  throw new CliError(EXIT.failure, `${runningName(one)} cannot be queried: ${message}`)
}

const errorIn = (body: string): string => {
  try {
    const { error = body } = JSON.parse(body) as { error?: string }
    return error
  } catch {
    return body
  }
}
