import { readFileSync } from 'node:fs'
import { placeIn } from '../../config/file/place.js'
import type { ControlApiContext } from './context.js'
import type { Reason } from './verdicts.js'

/** Returns the configuration paths that can hold a rule about a server's tools. */
export const inServer = (server: string, ...path: readonly string[]): readonly (readonly string[])[] => [
  ['mcpServers', server, 'tools', ...path],
  ['mcpServers', server, 'x-mcp-proxy', 'tools', ...path],
]

/** Returns the position of the first of these paths in the configuration file. */
export const placed = (
  context: ControlApiContext,
  ...paths: readonly (readonly string[])[]
): Pick<Reason, 'file' | 'line' | 'column'> => {
  const file = context.configStatus?.()?.file
  if (file === undefined) return {}
  try {
    const spot = placeIn(readFileSync(file, 'utf8'), ...paths)
    return spot === undefined ? { file } : { file, ...spot }
  } catch {
    return { file }
  }
}
