import { existsSync } from 'node:fs'
import { formatProblem } from '../../config/file/problem.js'
import type { Loaded, ProxyConfig } from '../../config/types.js'
import type { ProxyEnvironment } from '../../control/environment/environment.js'
import { cause } from '../../diagnostics/explain.js'
import { defaultConfigFile } from '../../shim/default-config-file.js'
import { printToStderr } from './output/output.js'
import { setupMachine } from './setup-files.js'
import { causeError, EXIT } from './verb.js'

/** Returns the file named by the flag or the environment, or the user's own file. The file may be missing. */
export const configTarget = (flag: string | undefined): string =>
  named(flag) ?? named(process.env['MCP_PROXY_CONFIG']) ?? defaultConfigFile(setupMachine())

/** Returns the configuration file to read. Throws a CliError if none is named and the user has none. */
export const configFile = (flag: string | undefined): string => {
  const file = configTarget(flag)
  const isNamed = (named(flag) ?? named(process.env['MCP_PROXY_CONFIG'])) !== undefined
  if (isNamed || existsSync(file)) return file
  const why = `${file} does not exist, and neither --config nor MCP_PROXY_CONFIG names another`
  throw causeError(EXIT.configuration, cause('D010', { file, why }))
}

const named = (path: string | undefined): string | undefined => (path === '' ? undefined : path)

/** Reads a configuration with its problems. `environment` defaults to the variables of this process. */
export const loadFile = async (file: string, environment?: ProxyEnvironment): Promise<Loaded> => {
  const { loadConfig, readConfigText } = await import('../../config/load.js')
  if (environment === undefined) return await loadConfig(file, process.env)
  const { parseConfig } = await import('../../config/parse.js')
  const read = await readConfigText(file)
  if ('unusable' in read) return read.unusable
  return await environment.load((env, later) => parseConfig(read.text, file, env, later))
}

export interface Usable extends Loaded {
  readonly config: ProxyConfig
}

export const readConfiguration = async (flag: string | undefined): Promise<ProxyConfig> =>
  (await readUsable(flag)).config

/**
 * Reads a configuration, prints its problems and keeps the valid servers. A file without servers is valid.
 * Throws a CliError if the file is unusable or errors removed all of its servers.
 */
export const readUsable = async (
  flag: string | undefined,
  environment?: ProxyEnvironment,
): Promise<Usable> => {
  const file = configFile(flag)
  const { config, problems, disabled } = await loadFile(file, environment)
  for (const problem of problems) printToStderr(formatProblem(problem))
  if (config === undefined) {
    throw causeError(EXIT.configuration, cause('cli.unusable-file', { file }))
  }
  const isEmpty = config.servers.length + config.waiting.length === 0
  const isUnusable = isEmpty && disabled.some(({ why }) => why === 'invalid')
  if (!isUnusable) return { config, problems, disabled }
  const reasons = disabled.map(({ name, why }) => `${name} (${why})`).join(', ')
  throw causeError(EXIT.configuration, cause('cli.no-servers', { file, why: reasons }))
}
