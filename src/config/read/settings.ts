import { isAbsolute, resolve } from 'node:path'
import { isObject } from '../../kernel/object.js'
import { parseNetwork } from '../../machine/networks.js'
import { isNamedPipe, socketPathOf } from '../../machine/socket-path.js'
import { DEFAULTS } from '../defaults.js'
import { valueOf } from '../file/syntax.js'
import { type Item, members } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { NO_FOREIGN_KEYS, warnUnknown } from '../schema/keys.js'
import { type SettingsValues, validateSettings } from '../schema/validate.js'
import type { AuditConfig, DaemonConfig, ListenConfig, ProxyConfig, Timeouts } from '../types.js'
import { type ReadContext, reportMisfits } from './entry.js'
import { readKeys } from './keys.js'
import { isOff, readMetrics } from './metrics.js'
import { durationReader, readLimits } from './quantity.js'
import { readTimeouts } from './timeouts.js'
import { readTracing } from './tracing.js'
import { expandedPath, expandedWhole } from './variables.js'
import { readViews } from './views.js'

/** Reads everything beside the servers; what is wrong is reported and replaced by its default. */
export const readSettings = (
  items: ReadonlyMap<string, Item>,
  context: ReadContext,
): Omit<ProxyConfig, 'servers' | 'waiting' | 'variables' | 'auth' | 'cluster'> & {
  /** Of servers that set no others. */
  readonly timeouts: Timeouts
} => {
  const { report } = context
  for (const key of [
    'listen',
    'log',
    'metrics',
    'tracing',
    'daemon',
    'limits',
    'requestState',
    'results',
    'timeouts',
  ] as const) {
    const item = items.get(key)
    if (item !== undefined) warnUnknown(members(item), KEYS[key], NO_FOREIGN_KEYS, report)
  }
  const listenItem = items.get('listen')
  const long = [...items].filter(
    ([key, item]) => !((key === 'listen' || key === 'tracing') && isShortForm(item)) && !isOff(key, item),
  )
  const values = checkedSettings(new Map(long), context)
  const { startupWait, drain } = values
  const wait = durationReader(items, { startupWait, drain }, report)
  return {
    listen: readListen(listenItem, values.listen, context),
    pageSize: values.pageSize ?? DEFAULTS.pageSize,
    startupWaitMs: wait('startupWait', DEFAULTS.startupWaitMs, 0),
    drainMs: wait('drain', DEFAULTS.drainMs, 0),
    limits: {
      ...DEFAULTS.limits,
      ...readLimits(items.get('limits'), values.limits, { names: KEYS.limits, report }),
    },
    audit: readAudit(items.get('audit'), values, context),
    daemon: readDaemon(items, values.daemon, report),
    metrics: readMetrics(items.get('metrics'), values.metrics, context),
    tracing: readTracing(items.get('tracing'), values.tracing, context),
    slowMs: readSlow(items.get('log'), values.log, report),
    ...readViews(items, values, report),
    resultsMax: resultsMax(values.results),
    timeouts: readTimeouts(items.get('timeouts'), values.timeouts, { report }),
    logLevel: values.log?.level ?? DEFAULTS.logLevel,
    credentialStore: values.credentialStore ?? DEFAULTS.credentialStore,
    knownServers: values.knownServers ?? DEFAULTS.knownServers,
    stateKeys: readStateKeys(items.get('requestState'), values.requestState, context),
  }
}

const resultsMax = ({ max = DEFAULTS.resultsMax }: SettingsValues['results'] = {}): number =>
  max === 'off' ? Number.POSITIVE_INFINITY : max

const readSlow = (
  item: Item | undefined,
  { slow }: NonNullable<SettingsValues['log']> = {},
  report: ReadContext['report'],
): number => durationReader(members(item), { slow }, report)('slow', DEFAULTS.slowMs)

const readDaemon = (
  items: ReadonlyMap<string, Item>,
  { idle, shellEnv = DEFAULTS.daemon.shellEnv }: NonNullable<SettingsValues['daemon']> = {},
  report: ReadContext['report'],
): DaemonConfig => ({
  idleMs: durationReader(members(items.get('daemon')), { idle }, report)('idle', DEFAULTS.daemon.idleMs, 100),
  shellEnv,
})

const readAudit = (
  item: Item | undefined,
  { audit = DEFAULTS.audit, auditArguments: withArguments = DEFAULTS.auditArguments }: SettingsValues,
  context: ReadContext,
): AuditConfig | undefined => {
  if (item === undefined || audit === 'off') return undefined
  if (audit === 'stderr') return { to: 'stderr', withArguments }
  const { errors } = context.report
  const path = expandedPath(item, context)
  return context.report.errors > errors
    ? undefined
    : { to: { file: resolve(context.folder, path) }, withArguments }
}

/** Read by themselves: nothing of them may fall back to a default. */
const APART = new Set(['auth', 'cluster', 'views', 'clients'])

const checkedSettings = (items: ReadonlyMap<string, Item>, { report }: ReadContext): SettingsValues => {
  const known = [...items].filter(([key]) => KEYS.root.includes(key) && !APART.has(key))
  const values: Record<string, unknown> = Object.fromEntries(known.map(([key, item]) => [key, valueOf(item)]))
  const result = validateSettings(values)
  if (result.is === 'fine') return result.value
  reportMisfits(
    result.misfits.map(misfit => ({ ...misfit, fix: `${misfit.fix} Until then the default holds.` })),
    items,
    report,
  )
  for (const { path } of result.misfits) drop(values, path)
  const rest = validateSettings(values)
  return rest.is === 'fine' ? rest.value : {}
}

/** Removes the member at a path; the whole list if an element of it is bad. */
const drop = (value: object, [step, ...rest]: readonly string[]): void => {
  if (step === undefined) return
  const next: unknown = Reflect.get(value, step)
  if (rest.length > 0 && isObject(next)) drop(next, rest)
  else Reflect.deleteProperty(value, step)
}

/** Whether `listen` or `tracing` has its short form: an address of a socket, or a word. */
const isShortForm = (item: Item | undefined): boolean => item?.node.type === 'string'

/** HTTP that was switched off stays off even if the socket is invalid: a port is open to more people. */
function readListen(
  item: Item | undefined,
  values: SettingsValues['listen'],
  context: ReadContext,
): ListenConfig {
  if (item !== undefined && isShortForm(item)) {
    return { ...DEFAULTS.listen, http: false, isGiven: true, socket: readSocket(item, context) }
  }
  const found = members(item)
  checkProxies(found.get('trustedProxies'), values?.trustedProxies, context)
  const socketItem = values?.socket === undefined ? undefined : found.get('socket')
  const port = { ...readPort(values), isGiven: item !== undefined }
  if (socketItem !== undefined) return { ...port, socket: readSocket(socketItem, context) }
  const httpItem = found.get('http')
  if (!port.http && httpItem !== undefined) {
    context.report.warning(httpItem, {
      message: 'this leaves nothing to listen on',
      fix: 'Name a "socket" to listen on, or remove this.',
    })
  }
  return { ...port, socket: DEFAULTS.listen.socket }
}

const checkProxies = (
  item: Item | undefined,
  proxies: readonly string[] | undefined,
  { report }: ReadContext,
): void => {
  const wrong = proxies?.find(text => parseNetwork(text) === undefined)
  if (item === undefined || wrong === undefined) return
  report.error(item, {
    message: `${JSON.stringify(wrong)} is not an IP address or network`,
    fix: 'Write addresses and networks, such as ["127.0.0.1", "10.0.0.0/8"].',
  })
}

const readPort = (given: SettingsValues['listen'] = {}): Omit<ListenConfig, 'socket' | 'isGiven'> => ({
  http: given.http ?? DEFAULTS.listen.http,
  host: given.host ?? DEFAULTS.listen.host,
  port: given.port ?? DEFAULTS.listen.port,
  allowedHosts: given.allowedHosts ?? DEFAULTS.listen.allowedHosts,
  ...(given.trustedProxies !== undefined && { trustedProxies: given.trustedProxies }),
  allowedOrigins: given.allowedOrigins ?? DEFAULTS.listen.allowedOrigins,
  sse: given.sse ?? DEFAULTS.listen.sse,
  ws: given.ws ?? DEFAULTS.listen.ws,
})

const readSocket = (item: Item, context: ReadContext): string | undefined => {
  const { report } = context
  const errors = report.errors
  const text = expandedWhole(String(item.node.value), item, context)
  if (report.errors > errors) return undefined
  const path = socketPathOf(text) ?? (isAbsolute(text) || isNamedPipe(text) ? text : undefined)
  if (path === undefined) {
    report.error(item, {
      message: 'this is not the address of a socket',
      fix: 'Write "unix:///" and its absolute path, or "pipe:///" and the name of a pipe; until then there is no socket.',
    })
  }
  return path
}

/** The valid keys of `requestState`. */
const readStateKeys = (
  item: Item | undefined,
  values: SettingsValues['requestState'],
  context: ReadContext,
): readonly string[] => (item === undefined ? [] : readKeys(item, values?.keys ?? [], context))
