import { readFileSync } from 'node:fs'
import { placeIn } from '../../config/file/place.js'
import type { Inside } from './inside.js'
import type { Cause } from './verdicts.js'

/** Where the rules about a server's tools may stand in a file. */
export const inServer = (server: string, ...path: readonly string[]): readonly (readonly string[])[] => [
  ['mcpServers', server, 'tools', ...path],
  ['mcpServers', server, 'x-mcp-proxy', 'tools', ...path],
]

/** The place of the first of these paths that there is in the configuration file. */
export const placed = (
  inside: Inside,
  ...paths: readonly (readonly string[])[]
): Pick<Cause, 'file' | 'line' | 'column'> => {
  const file = inside.configStatus?.()?.file
  if (file === undefined) return {}
  try {
    const spot = placeIn(readFileSync(file, 'utf8'), ...paths)
    return spot === undefined ? { file } : { file, ...spot }
  } catch {
    return { file }
  }
}
