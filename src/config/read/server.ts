import { DEFAULTS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import { bareRecord, itemAt, members, nodeKindOf, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import type {
  Era,
  ProtocolVersion,
  Restart,
  ServerAccess,
  ServerConfig,
  ServerTransport,
  Sharing,
  ToolRules,
  WaitingServer,
} from '../types.js'
import { foldEntry, isDisabled, type ReadContext, readEntry, type ServerEntry } from './entry.js'
import { readLogin } from './oauth.js'
import { readPlain } from './plain.js'
import { readLimits } from './quantity.js'
import { readTimeouts } from './timeouts.js'
import { type Reach, readReach } from './transport.js'

export type ServerRead =
  | { readonly is: 'ready'; readonly config: ServerConfig; readonly members: ReadonlyMap<string, TreeItem> }
  | { readonly is: 'waiting'; readonly server: WaitingServer }
  | { readonly is: 'disabled' }
  | { readonly is: 'invalid' }

/** Reads and validates one server, unless it is disabled. */
export function readServer(name: string, item: TreeItem, context: ReadContext): ServerRead {
  const { report } = context
  const errors = report.errors
  if (name === '')
    report.nameError(item, { message: 'the name of this server is empty', fix: 'Give it a name.' })
  if (item.node.type !== 'object') {
    report.error(item, {
      message: `expected an object, found ${nodeKindOf(item)}`,
      fix: 'Write an object, such as { "command": "npx", "args": ["-y", "some-server"] }.',
    })
    return { is: 'invalid' }
  }
  const folded = foldEntry(item)
  if (isDisabled(folded)) return { is: 'disabled' }
  const entry = readEntry(name, item, folded, context)
  const config = entry === undefined ? undefined : readConfig(entry, context)
  const { lacks = [] } = context
  if (report.errors > errors) return { is: 'invalid' }
  if (lacks.length > 0) {
    const transport = folded.has('command') ? 'stdio' : 'http'
    return { is: 'waiting', server: { name, transport, lacks: [...new Set(lacks)] } }
  }
  return config === undefined ? { is: 'invalid' } : { is: 'ready', config, members: folded }
}

/** Returns undefined or an incomplete configuration after it reported errors. */
const readConfig = (entry: ServerEntry, context: ReadContext): ServerConfig | undefined => {
  const { name, values, members: folded } = entry
  const { report } = context
  const reach = readReach(entry, context)
  const tools = readTools(entry, report)
  const timeouts = readTimeouts(folded.get('timeouts'), values.timeouts, { usual: context.timeouts, report })
  const limits = readLimits(folded.get('limits'), values.limits, { names: KEYS.serverLimits, report })
  const plain = readPlain('server', { items: folded, values, report })
  const restart = readRestart(entry, report)
  const era = readEra(entry, plain, reach?.transport, report)
  if (reach === undefined) return undefined
  return {
    ...plain,
    name,
    transport: reach.transport,
    tools,
    access: readAccess(values.access),
    oauth: readLogin(entry, reach.transport, context),
    sharing: readSharing(entry, reach, report),
    era,
    timeouts,
    limits,
    restart,
    written: reach.written,
  }
}

const readSharing = (
  { values, members: folded, item }: ServerEntry,
  reach: Reach,
  report: Report,
): Sharing => {
  const { sharing } = values
  const place = folded.get('sharing') ?? item
  if (reach.usesWorkspace === true) {
    if (sharing !== 'principal' && sharing !== 'all') return sharing ?? 'workspace'
    report.error(place, {
      message: 'clients in different folders would share a program in the folder of one of them',
      fix: 'Write "workspace" or "session", or remove the folder variables from this entry.',
    })
  } else if (sharing === 'workspace') {
    report.error(place, {
      message: 'only a program runs in a folder',
      fix: 'Write "principal" or "session".',
    })
  }
  return sharing ?? DEFAULTS.sharing[reach.transport.kind === 'stdio' ? 'stdio' : 'url']
}

const readAccess = ({ see = [], call = {} }: ServerEntry['values']['access'] = {}): ServerAccess => ({
  see,
  call: Object.entries(call),
})

const readTools = ({ values, members: folded }: ServerEntry, report: Report): ToolRules => {
  const { allow, deny = [], rename = {}, override = {} } = values.tools ?? {}
  const item = folded.get('tools')
  const taken = new Map<string, string>()
  for (const [from, to] of Object.entries(rename)) {
    const other = taken.get(to)
    taken.set(to, from)
    if (other === undefined || item === undefined) continue
    report.error(itemAt(item, ['rename', from]), {
      message: 'two tools have this name',
      fix: 'Give each tool a name of its own.',
    })
  }
  return {
    allow,
    deny,
    rename: bareRecord(Object.entries(rename)),
    override: bareRecord(Object.entries(override).map(([name, given]) => [name, knownOf(given)])),
  }
}

type Override = ToolRules['override'][string]

const knownOf = (override: Override): Override =>
  Object.fromEntries(Object.entries(override).filter(([key]) => KEYS.override.includes(key)))

const readRestart = ({ values, members: folded }: ServerEntry, report: Report): Restart => {
  const item = folded.get('restart')
  const restart = readPlain('restart', { items: members(item), values: values.restart, report })
  const { firstMs } = restart
  const maxMs = values.restart?.max === undefined ? Math.max(firstMs, restart.maxMs) : restart.maxMs
  if (item !== undefined && maxMs < firstMs) {
    report.error(itemAt(item, ['max']), {
      message: `shorter than restart.first (${firstMs / 1000} s)`,
      fix: 'Set it to at least as much as restart.first.',
    })
  }
  return { ...restart, maxMs }
}

/** Reads the era of a server, in which "era", "protocolVersion" and "type" must agree. */
const readEra = (
  { members: folded, item }: ServerEntry,
  { era, protocolVersion }: Pick<ServerConfig, 'era' | 'protocolVersion'>,
  transport: ServerTransport | undefined,
  report: Report,
): Era => {
  const placeOf = (key: 'era' | 'protocolVersion'): TreeItem => folded.get(key) ?? item
  const pinned = protocolVersion && (protocolVersion < MODERN ? 'legacy' : 'modern')
  const meant = pinned ?? era
  if (era !== 'auto' && era !== meant) {
    report.error(placeOf('protocolVersion'), {
      message: `${protocolVersion} is not a revision of the ${era} era`,
      fix: 'Remove "era", or this.',
    })
  } else if (transport?.kind === 'sse' && meant === 'modern') {
    report.error(placeOf(pinned === undefined ? 'era' : 'protocolVersion'), {
      message: 'HTTP+SSE is older than this',
      fix: 'Remove this, or "type".',
    })
  }
  return meant
}

/** The first revision without `initialize`. */
const MODERN: ProtocolVersion = '2026-07-28'
