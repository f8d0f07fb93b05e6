import { formatProblem } from '../config/file/problem.js'
import type { Loaded, ProxyConfig } from '../config/types.js'
import { say } from './output/output.js'
import { CliError, EXIT } from './verb.js'

/** The file named by the flag or the environment. Throws a CliError if none is. */
export const configFile = (flag: string | undefined): string => {
  const file = flag ?? process.env['MCP_PROXY_CONFIG']
  if (file !== undefined && file !== '') return file
  throw new CliError(
    EXIT.usage,
    'no configuration: give --config FILE, or set MCP_PROXY_CONFIG (for one server, see mcp-proxy bridge)',
  )
}

/** Reads a configuration with its problems. */
export const loadFile = async (file: string): Promise<Loaded> => {
  const { loadConfig } = await import('../config/load.js')
  return await loadConfig(file, process.env)
}

export interface Usable extends Loaded {
  readonly config: ProxyConfig
}

export const readConfiguration = async (flag: string | undefined): Promise<ProxyConfig> =>
  (await readUsable(flag)).config

/**
 * Reads a configuration, prints its problems and keeps the good servers. Throws a CliError if none is left.
 */
export const readUsable = async (flag: string | undefined): Promise<Usable> => {
  const file = configFile(flag)
  const { config, problems, disabled } = await loadFile(file)
  for (const problem of problems) say(formatProblem(problem))
  if (config === undefined) {
    throw new CliError(EXIT.configuration, `${file} cannot be used: fix the errors above and start again`)
  }
  if (config.servers.length > 0) return { config, problems, disabled }
  const unusable = disabled.map(({ name, why }) => `${name} (${why})`).join(', ')
  throw new CliError(
    EXIT.configuration,
    unusable === ''
      ? `${file} names no server: add one to "mcpServers"`
      : `no server of ${file} is left: ${unusable}; fix or enable one of them`,
  )
}
