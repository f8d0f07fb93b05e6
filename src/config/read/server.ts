import { DEFAULTS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import { type Item, itemAt, kindOf, members } from '../file/tree.js'
import { KEYS } from '../schema/validate.generated.js'
import type {
  Era,
  ProtocolVersion,
  Restart,
  ServerConfig,
  ServerTransport,
  Timeouts,
  ToolRules,
} from '../types.js'
import { bareRecord } from './bare-record.js'
import { readDuration } from './duration.js'
import { type Entry, foldEntry, isDisabled, type ReadContext, readEntry } from './entry.js'
import { readLimits } from './limits.js'
import { readReach } from './transport.js'

/** A server's entry, resolved; or why its server is left out. */
export type ServerRead =
  | { readonly is: 'ready'; readonly config: ServerConfig; readonly members: ReadonlyMap<string, Item> }
  | { readonly is: 'disabled' }
  /** It was reported why. */
  | { readonly is: 'invalid' }

/** Reads one server. An entry that is switched off is not looked at any further. */
export function readServer(name: string, item: Item, context: ReadContext): ServerRead {
  const { report } = context
  const errors = report.errors
  if (name === '') report.nameError(item, { message: 'a server has no name', mend: 'Give it a name.' })
  if (item.node.type !== 'object') {
    report.error(item, {
      message: `expected an object, found ${kindOf(item)}`,
      mend: 'Write an object, such as { "command": "npx", "args": ["-y", "some-server"] }.',
    })
    return { is: 'invalid' }
  }
  const folded = foldEntry(item)
  if (isDisabled(folded)) return { is: 'disabled' }
  const entry = readEntry(name, item, folded, context)
  const config = entry === undefined ? undefined : readConfig(entry, context)
  return config === undefined || report.errors > errors
    ? { is: 'invalid' }
    : { is: 'ready', config, members: folded }
}

/** Undefined, or worthless, after it was reported what is wrong. */
const readConfig = (entry: Entry, context: ReadContext): ServerConfig | undefined => {
  const { name, values, members: folded } = entry
  const { report } = context
  const reach = readReach(entry, context)
  const tools = readTools(entry, report)
  const timeouts = readTimeouts(entry, report)
  const limits = readLimits(folded.get('limits'), values.limits, { names: KEYS.serverLimits, report })
  const restart = readRestart(entry, report)
  const idleStopMs = readWait(entry, 'idleStop', report) ?? DEFAULTS.idleStopMs
  const era = readEra(entry, reach?.transport, report)
  if (reach === undefined) return undefined
  return {
    name,
    prefix: values.prefix,
    transport: reach.transport,
    tools,
    uris: values.uris ?? DEFAULTS.uris,
    sharing: values.sharing ?? DEFAULTS.sharing[reach.transport.kind === 'stdio' ? 'stdio' : 'url'],
    start: values.start ?? DEFAULTS.start,
    era,
    protocolVersion: values.protocolVersion,
    timeouts,
    limits,
    restart,
    idleStopMs,
    replay: values.replay ?? DEFAULTS.replay,
    serialize: values.serialize ?? DEFAULTS.serialize,
    written: reach.written,
  }
}

const readTools = ({ values, members: folded }: Entry, report: Report): ToolRules => {
  const { allow, deny = [], rename = {}, override = {} } = values.tools ?? {}
  const item = folded.get('tools')
  const taken = new Map<string, string>()
  for (const [from, to] of Object.entries(rename)) {
    const other = taken.get(to)
    taken.set(to, from)
    if (other === undefined || item === undefined) continue
    report.error(itemAt(item, ['rename', from]), {
      message: 'two tools are given this name',
      mend: 'Give each tool a name of its own.',
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

/** Without keys that mean nothing here. */
const knownOf = (override: Override): Override =>
  Object.fromEntries(Object.entries(override).filter(([key]) => KEYS.override.includes(key)))

const readTimeouts = ({ values, members: folded }: Entry, report: Report): Timeouts => {
  const item = folded.get('timeouts')
  const given = values.timeouts ?? {}
  const read = (key: keyof typeof given, fallback: number): number => {
    const place = item === undefined ? undefined : members(item).get(key)
    const value = given[key]
    if (place === undefined || value === undefined) return fallback
    return readDuration(value, place, 1, report) ?? fallback
  }
  const connectMs = read('connect', DEFAULTS.timeouts.connectMs)
  const timeouts = {
    connectMs,
    // Whoever says how long a start may take means all of it.
    initializeMs: read('initialize', connectMs),
    probeMs: read('probe', DEFAULTS.timeouts.probeMs),
    listMs: read('list', DEFAULTS.timeouts.listMs),
    callMs: read('call', DEFAULTS.timeouts.callMs),
    totalMs: read('total', DEFAULTS.timeouts.totalMs),
  }
  // "off" beside a total of one's own is no mistake: only the whole call is limited.
  const isMeant = timeouts.callMs === Number.POSITIVE_INFINITY && given.total !== undefined
  if (item !== undefined && timeouts.callMs > timeouts.totalMs && !isMeant) {
    report.warning(itemAt(item, ['call']), {
      message: `longer than timeouts.total (${timeouts.totalMs / 1000} s), which ends the call first`,
      mend: 'Set timeouts.total to more, or to "off".',
    })
  }
  return timeouts
}

const readRestart = ({ values, members: folded }: Entry, report: Report): Restart => {
  const item = folded.get('restart')
  const given = values.restart ?? {}
  const { restart: usual } = DEFAULTS
  const read = (key: 'first' | 'max' | 'window' | 'retry', leastMs: number, fallback: number): number => {
    const place = item === undefined ? undefined : members(item).get(key)
    const value = given[key]
    if (place === undefined || value === undefined) return fallback
    return readDuration(value, place, leastMs, report) ?? fallback
  }
  // A program that ends at once must not be started as fast as the machine can.
  const firstMs = read('first', LEAST_RESTART_MS, usual.firstMs)
  const maxMs = read('max', LEAST_RESTART_MS, Math.max(firstMs, usual.maxMs))
  if (item !== undefined && maxMs < firstMs) {
    report.error(itemAt(item, ['max']), {
      message: `shorter than restart.first (${firstMs / 1000} s)`,
      mend: 'Set it to at least as much as restart.first.',
    })
  }
  return {
    firstMs,
    maxMs,
    failures: given.failures ?? usual.failures,
    windowMs: read('window', 1, usual.windowMs),
    retryMs: read('retry', LEAST_RETRY_MS, usual.retryMs),
  }
}

/** The shortest first wait, and the shortest one after a server was given up. */
const LEAST_RESTART_MS = 100
const LEAST_RETRY_MS = 1000

/** A duration, or "off", that stands in the entry itself; undefined if it is absent, or after it was reported what is wrong. */
const readWait = (
  { values, members: folded }: Entry,
  key: 'idleStop',
  report: Report,
): number | undefined => {
  const [value, item] = [values[key], folded.get(key)]
  return value === undefined || item === undefined ? undefined : readDuration(value, item, 1, report)
}

/** The era of a server; what is said about it in several ways must not say different things. */
const readEra = (
  { values, members: folded, item }: Entry,
  transport: ServerTransport | undefined,
  report: Report,
): Era => {
  const { era = DEFAULTS.era, protocolVersion } = values
  const pinned = protocolVersion && (protocolVersion < MODERN ? 'legacy' : 'modern')
  const meant = pinned ?? era
  if (era !== 'auto' && era !== meant) {
    report.error(folded.get('protocolVersion') ?? item, {
      message: `${protocolVersion} is not a revision of the ${era} era`,
      mend: 'Remove "era", or this.',
    })
  } else if (transport?.kind === 'sse' && meant === 'modern') {
    report.error(folded.get(pinned === undefined ? 'era' : 'protocolVersion') ?? item, {
      message: 'HTTP+SSE is older than this',
      mend: 'Remove this, or "type".',
    })
  }
  return meant
}

/** The first revision without `initialize`. */
const MODERN: ProtocolVersion = '2026-07-28'
