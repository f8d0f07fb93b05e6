import { resolve } from 'node:path'
import type { InstanceRecord } from '../app/state/instance.js'
import { isSamePath } from '../config/file/watch.js'
import type { Opened } from '../shim/ask.js'
import { CliError, EXIT } from './verb.js'

const LIMIT_MS = 5000

/** The running proxies of this user that a verb may mean, and which of them it means. */
export interface Choice {
  /** Undefined if there is none, or more than one. */
  readonly one: InstanceRecord | undefined
  readonly all: readonly InstanceRecord[]
}

/** Chooses the only running proxy, or the only one with this configuration. */
export const chooseRunning = async (config: string | undefined): Promise<Choice> => {
  const { runningProxies } = await import('../app/processes/orphans.js')
  const all = await runningProxies()
  const file = config ?? process.env['MCP_PROXY_CONFIG']
  const meant = all.filter(one => config === undefined || runsWith(one, config))
  // The variable chooses among several proxies, but does not hide the only one.
  const preferred = meant.filter(one => file !== undefined && runsWith(one, file))
  const found = preferred.length === 1 ? preferred : meant
  return { one: found.length === 1 ? found[0] : undefined, all: meant }
}

/** The running proxy that a verb means. Throws a CliError if there is not just one. */
export const theRunning = async (config: string | undefined, flags = '--config'): Promise<InstanceRecord> => {
  const { one, all } = await chooseRunning(config)
  if (one !== undefined) return one
  if (all.length === 0) throw new CliError(EXIT.failure, 'no proxy of this user runs here', NOBODY)
  const list = all.map(each => `  ${runningName(each)}`).join('\n')
  throw new CliError(EXIT.usage, `several proxies run; choose one with ${flags}:\n${list}`)
}

const NOBODY = {
  why: "nobody has started one with that configuration, or it is another user's, who is asked with --url",
  mend: 'mcp-proxy daemon start',
}

const runsWith = (one: InstanceRecord, file: string): boolean =>
  one.config !== undefined && isSamePath(one.config, resolve(file))

export const runningName = ({ verb, pid, url, config }: InstanceRecord): string =>
  [`${verb}, pid ${pid}`, url, config].filter(part => part !== undefined).join(', ')

/** Asks a running proxy on its private socket, with POST if there is a body. Throws a CliError. */
export const askRunning = async (one: InstanceRecord, target: string, body?: string): Promise<string> => {
  const options = await optionsOf(one)
  const { ask } = await import('../shim/ask.js')
  const reply = await ask(options, target, body).catch((thrown: unknown) => unreachable(one, thrown))
  if (reply.status === 200) return reply.body
  throw new CliError(EXIT.failure, `${runningName(one)} says: ${errorIn(reply.body)}`)
}

/** The same for an answer that does not end by itself. */
export const followRunning = async (one: InstanceRecord, target: string): Promise<Opened> => {
  const options = await optionsOf(one)
  const { follow } = await import('../shim/ask.js')
  return await follow(options, target).catch((thrown: unknown) => unreachable(one, thrown))
}

const optionsOf = async (one: InstanceRecord) => {
  const { asking } = await import('../app/control/seat.js')
  const { socket, token } = one
  if (socket === undefined)
    throw new CliError(EXIT.failure, `the running proxy cannot be asked: ${runningName(one)}`)
  return asking({ socket, token }, LIMIT_MS)
}

const unreachable = (one: InstanceRecord, thrown: unknown): never => {
  const words = thrown instanceof Error ? thrown.message : String(thrown)
  throw new CliError(EXIT.failure, `${runningName(one)} cannot be asked: ${words}`)
}

const errorIn = (body: string): string => {
  try {
    const { error = body } = JSON.parse(body) as { error?: string }
    return error
  } catch {
    return body
  }
}
