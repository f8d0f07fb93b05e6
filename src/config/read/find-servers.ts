import { members, nodeKindOf, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { FOREIGN_ROOT_KEYS, warnUnknown } from '../schema/keys.js'
import type { ReadContext } from './entry.js'

/** The servers and the settings of a file. */
export interface Contents {
  readonly servers: ReadonlyMap<string, TreeItem>
  readonly settings: ReadonlyMap<string, TreeItem>
}

// The keys of VS Code (.vscode/mcp.json) and Zed (settings.json).
const OTHER_CONTAINERS = ['servers', 'context_servers'] as const

const EXAMPLE = 'Write "mcpServers": { "some-name": { "command": "npx", "args": ["-y", "some-server"] } }.'

const isServer = (item: TreeItem): boolean => {
  const found = members(item)
  return ['command', 'url', 'serverUrl', 'httpUrl'].some(key => found.has(key))
}

/** Finds the servers of a file; undefined after an error was reported. An empty "mcpServers" is valid. */
export function serverMembersIn(root: TreeItem, context: ReadContext): Contents | undefined {
  const { report } = context
  if (root.node.type !== 'object') {
    report.error(root, { message: `expected an object, found ${nodeKindOf(root)}`, fix: EXAMPLE })
    return undefined
  }
  const found = members(root)
  const own = found.get('mcpServers')
  if (own !== undefined) return contents(found, own, context)
  for (const key of OTHER_CONTAINERS) {
    const other = found.get(key)
    if (other?.node.type !== 'object') continue
    report.nameWarning(other, {
      message: 'read as "mcpServers", the name of this key in mcp-proxy',
      fix: 'Rename it to "mcpServers".',
    })
    return contents(found, other, context)
  }
  return bareServers(root, found, context)
}

const contents = (
  found: ReadonlyMap<string, TreeItem>,
  container: TreeItem,
  { report }: ReadContext,
): Contents | undefined => {
  if (container.node.type !== 'object') {
    report.error(container, { message: `expected an object, found ${nodeKindOf(container)}`, fix: EXAMPLE })
    return undefined
  }
  const settings = new Map([...found].filter(([, item]) => item !== container))
  for (const key of OTHER_CONTAINERS) {
    const other = settings.get(key)
    if (other === undefined) continue
    settings.delete(key)
    report.nameWarning(other, {
      message: 'ignored, because this file has another list of servers',
      fix: 'Move its servers to "mcpServers".',
    })
  }
  warnUnknown(settings, KEYS.root, FOREIGN_ROOT_KEYS, report)
  const servers = members(container)
  if (servers.size === 0)
    report.warning(container, { message: 'no servers are configured here', fix: EXAMPLE })
  return { servers, settings }
}

const bareServers = (
  root: TreeItem,
  found: ReadonlyMap<string, TreeItem>,
  { report }: ReadContext,
): Contents | undefined => {
  if (isServer(root)) {
    report.error(root, {
      message: 'this is one server without a name',
      fix: 'Put it into an object: "mcpServers": { "some-name": { … } }.',
    })
    return undefined
  }
  const isListed = ([name, item]: readonly [string, TreeItem]): boolean =>
    !KEYS.root.includes(name) && isServer(item)
  const servers = new Map([...found].filter(isListed))
  const settings = new Map([...found].filter(entry => !isListed(entry)))
  warnUnknown(settings, KEYS.root, FOREIGN_ROOT_KEYS, report)
  if (servers.size === 0) {
    report.error(root, { message: 'the key "mcpServers" is missing', fix: EXAMPLE })
    return undefined
  }
  report.warning(root, {
    message: 'read as a list of servers, because "mcpServers" is missing',
    fix: 'Put the servers into an object: "mcpServers": { … }.',
  })
  return { servers, settings }
}
