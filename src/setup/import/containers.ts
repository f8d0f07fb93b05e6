import { isObject } from '../../kernel/object.js'

export type Members = Readonly<Record<string, unknown>>

/** An entry of another program's file, as it stands there. */
export interface Found {
  /** Empty for a server without a name. */
  readonly name: string
  readonly entry: Members
}

const KEYS = ['mcpServers', 'servers', 'context_servers', 'mcp_servers', 'mcp', 'extensions'] as const

const REACH = ['command', 'cmd', 'url', 'uri', 'serverUrl', 'httpUrl', 'baseUrl', 'tcp', 'transport'] as const

const isServer = (value: unknown): value is Members =>
  isObject(value) &&
  (REACH.some(key => key in value) || ['local', 'remote', 'stdio'].includes(String(value['type'])))

const nameOf = ({ name }: Members): string => (typeof name === 'string' ? name : '')

const inContainer = (value: unknown): readonly Found[] => {
  if (Array.isArray(value)) {
    const named = value.filter((item): item is Members => isServer(item))
    return named.map(entry => ({ name: nameOf(entry), entry }))
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, entry]) => (isServer(entry) ? [{ name, entry }] : []))
}

/**
 * The servers of any file that is known: those of all containers, else of a map of servers, else one server.
 * `project` also takes those that Claude Code keeps for a folder; they come first.
 */
export const serversIn = (root: unknown, project?: string): readonly Found[] => {
  if (!isObject(root)) return inContainer(root)
  const projects = root['projects']
  const own = project !== undefined && isObject(projects) ? projects[project] : undefined
  const found = [own, root].flatMap(from =>
    isObject(from) ? KEYS.flatMap(key => inContainer(from[key])) : [],
  )
  const known = [...found, ...packaged(root)].filter(isEnabledIn(root))
  if (known.length > 0) return known
  const bare = inContainer(root)
  return bare.length > 0 || !isServer(root) ? bare : [{ name: '', entry: root }]
}

/** Gemini names beside its servers those that it leaves out. */
const isEnabledIn = ({ mcp }: Members) => {
  const excluded = isObject(mcp) && Array.isArray(mcp['excluded']) ? mcp['excluded'] : []
  return ({ name }: Found): boolean => !excluded.includes(name)
}

/** The server of a manifest.json of a bundle (.mcpb), whose files lie beside it. */
const packaged = (root: Members): readonly Found[] => {
  const { server } = root
  const config = isObject(server) ? server['mcp_config'] : undefined
  return isServer(config) ? [{ name: nameOf(root), entry: config }] : []
}
