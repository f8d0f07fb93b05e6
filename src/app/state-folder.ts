import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/**
 * The folder of what we keep between runs: `$XDG_STATE_HOME/mcp-proxy` or `~/.local/state/mcp-proxy`
 * (https://specifications.freedesktop.org/basedir-spec), on Windows `%LOCALAPPDATA%\mcp-proxy\state`. It may not exist.
 */
export const stateFolder = (
  env: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
): string => {
  const given = env['XDG_STATE_HOME']
  // The specification wants a path that is not absolute to be ignored.
  if (given !== undefined && isAbsolute(given)) return join(given, 'mcp-proxy')
  const local = env['LOCALAPPDATA']
  if (platform === 'win32' && local !== undefined) return join(local, 'mcp-proxy', 'state')
  return join(homedir(), '.local', 'state', 'mcp-proxy')
}
