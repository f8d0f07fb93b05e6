import { switchOf } from '../../config/schema/client-switches.js'
import { isObject } from '../../kernel/object.js'

export type ContainerMembers = Readonly<Record<string, unknown>>

/** An entry as written in another program's file. */
export interface Found {
  /** Empty for an unnamed server. */
  readonly name: string
  readonly entry: ContainerMembers
  readonly note?: string
}

const KEYS = [
  'mcpServers',
  'servers',
  'context_servers',
  'mcp_servers',
  'mcp',
  'extensions',
  'amp.mcpServers',
] as const

/** Returns whether files of clients may hold servers under this key. */
export const isContainer = (name: string): boolean => KEYS.some(key => key === name)

const REACH = 'command cmd url uri serverUrl httpUrl baseUrl endpoint sseUrl tcp transport'.split(' ')

const isServer = (value: unknown): value is ContainerMembers =>
  isObject(value) &&
  (REACH.some(key => key in value) || ['local', 'remote', 'stdio'].includes(String(value['type'])))

const nameOf = ({ name }: ContainerMembers): string => (typeof name === 'string' ? name : '')

const inContainer = (value: unknown): readonly Found[] => {
  if (Array.isArray(value)) {
    const named = value.filter((item): item is ContainerMembers => isServer(item))
    return named.map(entry => ({ name: nameOf(entry), entry }))
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, entry]) => (isServer(entry) ? [{ name, entry }] : []))
}

/**
 * Returns the servers of any known file: from all containers, else from a map of servers, else a single
 * server.
 */
export const serversIn = (root: unknown): readonly Found[] => {
  if (!isObject(root)) return inContainer(root)
  const known = [
    ...KEYS.flatMap(key => serversAt(root, key)),
    // VS Code kept its servers in settings.json before.
    ...serversAt(root['mcp'], 'servers'),
    ...packaged(root),
  ]
  if (known.length > 0) return known
  const bare = inContainer(root)
  return bare.length > 0 || !isServer(root) ? bare : [{ name: '', entry: root }]
}

/** Returns the servers of one container; servers that the file switches off are disabled. */
export const serversAt = (root: unknown, key: string): readonly Found[] =>
  isObject(root) ? inContainer(root[key]).map(switched(root)) : []

/** Some clients list enabled or disabled servers separately from the servers. */
const switched =
  (root: ContainerMembers): ((found: Found) => Found) =>
  found => {
    const key = switchOf(root, found.name)
    return key === undefined ? found : switchedOff(found, `disabled, as "${key}" says in its client`)
  }

/** Returns a server that its client does not start, with the reason. */
export const switchedOff = (found: Found, note: string): Found => ({
  ...found,
  entry: { ...found.entry, disabled: true },
  note,
})

/** A project's own servers in a user's file (Claude Code's "local" scope). */
export interface ProjectServers {
  /** Project folder. */
  readonly folder: string
  readonly found: readonly Found[]
}

/** Returns the projects with their own servers in a user's file. */
export const projectsIn = (root: unknown): readonly ProjectServers[] => {
  const projects = isObject(root) && isObject(root['projects']) ? root['projects'] : {}
  return Object.entries(projects).flatMap(([folder, project]) => {
    const found = serversAt(project, 'mcpServers')
    return found.length === 0 ? [] : [{ folder, found }]
  })
}

/** Returns the server of a bundle's manifest.json (.mcpb), whose files are next to it. */
const packaged = (root: ContainerMembers): readonly Found[] => {
  const { server } = root
  const config = isObject(server) ? server['mcp_config'] : undefined
  return isServer(config) ? [{ name: nameOf(root), entry: config }] : []
}
