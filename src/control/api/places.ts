import { readFileSync } from 'node:fs'
import { memberPlaces, placeIn } from '../../config/file/place.js'
import type { Problem } from '../../config/types.js'
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

interface ServerLines {
  /** Identifies the reading of the file that they are from. */
  readonly stamp: string
  readonly lines: ReadonlyMap<string, number>
}

const SERVERS = 'mcpServers'
const NO_LINES: ReadonlyMap<string, number> = new Map()
const known = new WeakMap<object, ServerLines>()

/** Returns the lines of the servers in the configuration file. Reads it again only after the proxy did. */
export const serverLines = ({
  configStatus,
}: Pick<ControlApiContext, 'configStatus'>): ReadonlyMap<string, number> => {
  const status = configStatus?.()
  if (configStatus === undefined || status === undefined) return NO_LINES
  const { file, generation, lastReload } = status
  const stamp = [file, generation, lastReload?.at].join('\n')
  const last = known.get(configStatus)
  if (last?.stamp === stamp) return last.lines
  const lines = linesIn(file)
  known.set(configStatus, { stamp, lines })
  return lines
}

const linesIn = (file: string): ReadonlyMap<string, number> => {
  try {
    const places = memberPlaces(readFileSync(file, 'utf8'), SERVERS)
    return new Map([...places].map(([name, { line }]) => [name, line]))
  } catch {
    return NO_LINES
  }
}

/** Returns the server that a problem of the file is about. Names may contain dots. */
export const serverOfProblem = ({ key }: Problem, lines: ReadonlyMap<string, number>): string | undefined => {
  if (!key.startsWith(`${SERVERS}.`)) return undefined
  const rest = key.slice(SERVERS.length + 1)
  const named = [...lines.keys()].filter(name => rest === name || rest.startsWith(`${name}.`))
  return named.sort((one, other) => other.length - one.length)[0] ?? rest.split('.')[0]
}
