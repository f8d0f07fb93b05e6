import { isAbsolute } from 'node:path'
import { parseNetwork } from '../../kernel/machine/networks.js'
import { isNamedPipe, socketPathOf } from '../../kernel/machine/socket-path.js'
import { isObject } from '../../kernel/object.js'
import { DEFAULTS } from '../defaults.js'
import { syntaxValueOf } from '../file/syntax.js'
import { itemAt, members, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { NO_FOREIGN_KEYS, warnUnknown } from '../schema/keys.js'
import { type SettingsValues, validateSettings } from '../schema/validate.js'
import type { ListenConfig, ProxyConfig, Timeouts } from '../types.js'
import { readAudit } from './audit.js'
import { type ReadContext, reportMisfits } from './entry.js'
import { readConfigKeys } from './keys.js'
import { isOff, readMetrics } from './metrics.js'
import { readProxy } from './network.js'
import { readPlain } from './plain.js'
import { readLimits } from './quantity.js'
import { readTimeouts } from './timeouts.js'
import { readTracing } from './tracing.js'
import { expandedWhole } from './variables.js'
import { readViews } from './views.js'

/** Reads all settings except the servers. Reports errors and replaces invalid values by their defaults. */
export const readSettings = (
  items: ReadonlyMap<string, TreeItem>,
  context: ReadContext,
): Omit<ProxyConfig, 'servers' | 'waiting' | 'variables' | 'auth' | 'cluster' | 'rules' | 'lock'> & {
  /** Timeouts of servers without their own. */
  readonly timeouts: Timeouts
} => {
  const { report } = context
  for (const key of [
    'listen',
    'log',
    'audit',
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
    ([key, item]) => !(SHORT_FORMS.has(key) && isShortForm(item)) && !isOff(key, item),
  )
  const values = checkedSettings(new Map(long), context)
  return {
    listen: readListen(listenItem, values.listen, context),
    ...readPlain('proxy', { items, values, report }),
    proxy: readProxy(values.proxy === undefined ? undefined : items.get('proxy'), context),
    ...readPlain('log', { items: members(items.get('log')), values: values.log, report }),
    ...readPlain('results', { items: members(items.get('results')), values: values.results, report }),
    limits: {
      ...DEFAULTS.limits,
      ...readLimits(items.get('limits'), values.limits, { names: KEYS.limits, report }),
    },
    audit: readAudit(items.get('audit'), values, context),
    daemon: readPlain('daemon', { items: members(items.get('daemon')), values: values.daemon, report }),
    metrics: readMetrics(items.get('metrics'), values.metrics, context),
    tracing: readTracing(items.get('tracing'), values.tracing, context),
    ...readViews(items, values, report),
    timeouts: readTimeouts(items.get('timeouts'), values.timeouts, { report }),
    stateKeys: readStateKeys(items.get('requestState'), values.requestState, context),
  }
}

/** Settings with a short form, a string, which the schema does not describe. */
const SHORT_FORMS: ReadonlySet<string> = new Set(['listen', 'tracing', 'audit'])

/** Read separately, because they must not fall back to defaults. */
const APART = new Set(['auth', 'cluster', 'views', 'clients', 'rules', 'lock'])

const checkedSettings = (items: ReadonlyMap<string, TreeItem>, { report }: ReadContext): SettingsValues => {
  const known = [...items].filter(([key]) => KEYS.root.includes(key) && !APART.has(key))
  const values: Record<string, unknown> = Object.fromEntries(
    known.map(([key, item]) => [key, syntaxValueOf(item)]),
  )
  const result = validateSettings(values)
  if (result.is === 'fine') return result.value
  reportMisfits(
    result.misfits.map(misfit => ({ ...misfit, fix: `${misfit.fix} Until then the default holds.` })),
    items,
    report,
  )
  // If a section lacks a required member without the invalid one, leave out the whole section.
  let rest: ReturnType<typeof validateSettings> = result
  for (let up = 0; rest.is === 'misfit'; up += 1) {
    for (const { path } of rest.misfits) drop(values, path.slice(0, Math.max(1, path.length - up)))
    rest = validateSettings(values)
  }
  return rest.value
}

/** Removes the member at a path; the whole list if an element of it is bad. */
const drop = (value: object, [step, ...rest]: readonly string[]): void => {
  if (step === undefined) return
  const next: unknown = Reflect.get(value, step)
  if (rest.length > 0 && isObject(next)) drop(next, rest)
  else Reflect.deleteProperty(value, step)
}

/** Detects a short form (`SHORT_FORMS`). */
const isShortForm = (item: TreeItem | undefined): boolean => item?.node.type === 'string'

/** HTTP stays off, even if the socket is invalid: a port is accessible to more users. */
function readListen(
  item: TreeItem | undefined,
  values: SettingsValues['listen'],
  context: ReadContext,
): ListenConfig {
  if (item !== undefined && isShortForm(item)) {
    return { ...DEFAULTS.listen, http: false, isGiven: true, socket: readSocket(item, context) }
  }
  const found = members(item)
  checkProxies(found.get('trustedProxies'), values?.trustedProxies, context)
  const socketItem = values?.socket === undefined ? undefined : found.get('socket')
  const port = { ...readPort(found, values, context.report), isGiven: item !== undefined }
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
  item: TreeItem | undefined,
  proxies: readonly string[] | undefined,
  { report }: ReadContext,
): void => {
  for (const [index, text] of proxies?.entries() ?? []) {
    if (item === undefined || parseNetwork(text) !== undefined) continue
    report.error(itemAt(item, [String(index)]), {
      message: `${JSON.stringify(text)} is not an IP address or network`,
      fix: 'Write addresses and networks, such as ["127.0.0.1", "10.0.0.0/8"].',
    })
  }
}

const readPort = (
  found: ReadonlyMap<string, TreeItem>,
  values: SettingsValues['listen'],
  report: ReadContext['report'],
): Omit<ListenConfig, 'socket' | 'isGiven'> => ({
  ...readPlain('listen', { items: found, values, report }),
  ...(values?.trustedProxies !== undefined && { trustedProxies: values.trustedProxies }),
  ...(values?.path !== undefined && { path: values.path }),
  ...(values?.servers !== undefined && { servers: values.servers }),
})

const readSocket = (item: TreeItem, context: ReadContext): string | undefined => {
  const { report } = context
  const errors = report.errors
  const text = expandedWhole(String(item.node.value), item, context)
  if (report.errors > errors) return undefined
  const path = socketPathOf(text) ?? (isAbsolute(text) || isNamedPipe(text) ? text : undefined)
  if (path === undefined) {
    report.error(item, {
      message: 'this is not the address of a socket',
      fix: 'Write "unix:///" and its absolute path, or "pipe:///" and the name of a pipe; until then the proxy listens on no socket.',
    })
  }
  return path
}

const readStateKeys = (
  item: TreeItem | undefined,
  values: SettingsValues['requestState'],
  context: ReadContext,
): readonly string[] => (item === undefined ? [] : readConfigKeys(item, values?.keys ?? [], context))
