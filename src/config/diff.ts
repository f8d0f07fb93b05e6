import type { AuthConfig, ProxyConfig, ServerConfig } from './types.js'

/** What another configuration changes in a running proxy: names of servers, and keys of settings. */
export interface ConfigDiff {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Started or reached in another way: a new server takes the place of the running one. */
  readonly replaced: readonly string[]
  /** Clients see other names, URIs or tools of the running server. */
  readonly reshown: readonly string[]
  /** Other time limits, limits or behaviour of the running server. */
  readonly retuned: readonly string[]
  /** Whether the servers that stay are in another order. */
  readonly isReordered: boolean
  /** Settings that take effect at once. */
  readonly settings: readonly string[]
  /** Settings that take effect only after a restart. */
  readonly needRestart: readonly string[]
}

/** The effect of a changed key on a running server. `written` is for printing only. */
const SERVER_KEYS = {
  transport: 'replaced',
  sharing: 'replaced',
  oauth: 'replaced',
  credentials: 'replaced',
  signInTool: 'replaced',
  era: 'replaced',
  protocolVersion: 'replaced',
  prefix: 'reshown',
  uris: 'reshown',
  tools: 'reshown',
  tags: 'reshown',
  description: 'reshown',
  access: 'reshown',
  start: 'retuned',
  timeouts: 'retuned',
  replay: 'retuned',
  serialize: 'retuned',
  propagate: 'retuned',
  limits: 'retuned',
  restart: 'retuned',
  idleStopMs: 'retuned',
} as const satisfies Record<
  Exclude<keyof ServerConfig, 'name' | 'written'>,
  'replaced' | 'reshown' | 'retuned'
>

/** The key of each setting in a file. */
const SETTINGS = {
  listen: 'listen',
  pageSize: 'pageSize',
  startupWaitMs: 'startupWait',
  drainMs: 'drain',
  limits: 'limits',
  auth: 'auth',
  cluster: 'cluster',
  audit: 'audit',
  logLevel: 'log.level',
  metrics: 'metrics',
  tracing: 'tracing',
  slowMs: 'log.slow',
  stateKeys: 'requestState.keys',
  credentialStore: 'credentialStore',
  daemon: 'daemon',
  views: 'views',
  clients: 'clients',
  expose: 'expose',
  resultsMax: 'results.max',
  knownServers: 'knownServers',
} as const satisfies Record<Exclude<keyof ProxyConfig, 'servers' | 'waiting' | 'variables'>, string>

/** What is in force once another configuration is read: what needs a restart stays as it is. Pure. */
export const configInForce = (running: ProxyConfig, next: ProxyConfig): ProxyConfig => {
  const { listen, cluster, audit, stateKeys, credentialStore, daemon } = running
  const { knownServers, metrics, tracing } = running
  const kept = { listen, cluster, audit, stateKeys, credentialStore, daemon, knownServers, metrics, tracing }
  return { ...next, ...kept, auth: authInForce(running.auth, next.auth) }
}

const authInForce = (running: AuthConfig | undefined, next: AuthConfig | undefined) => {
  if (running === undefined || next === undefined) return running
  const { people, grants, scopeImplies } = next
  return { ...running, people, grants, scopeImplies }
}

/** Compares the configuration in force with another one. Pure. */
export const diffConfigs = (before: ProxyConfig, after: ProxyConfig): ConfigDiff => {
  const old = new Map(before.servers.map(server => [server.name, server]))
  const names = new Set(after.servers.map(server => server.name))
  const pairs = after.servers.flatMap(server => {
    const other = old.get(server.name)
    return other === undefined ? [] : [{ name: server.name, effects: effectsOf(other, server) }]
  })
  const replaced = pairs.filter(({ effects }) => effects.has('replaced')).map(({ name }) => name)
  const kept = pairs.filter(({ effects }) => !effects.has('replaced'))
  const having = (effect: Effect): string[] =>
    kept.filter(({ effects }) => effects.has(effect)).map(({ name }) => name)
  const staying = [...old.keys()].filter(name => names.has(name))
  const inForce = configInForce(before, after)
  const changed = (one: ProxyConfig, other: ProxyConfig): string[] =>
    keysOf(SETTINGS).flatMap(key => (isSameValue(one[key], other[key]) ? [] : SETTINGS[key]))
  return {
    added: [...names].filter(name => !old.has(name)),
    removed: [...old.keys()].filter(name => !names.has(name)),
    replaced,
    reshown: having('reshown'),
    retuned: having('retuned'),
    isReordered: pairs.some(({ name }, index) => name !== staying[index]),
    settings: changed(before, inForce),
    needRestart: changed(inForce, after),
  }
}

/** Returns the names of the servers that were added or removed, or whose entries differ. Pure. */
export const changedServers = (before: ProxyConfig, after: ProxyConfig): ReadonlySet<string> => {
  const { added, removed, replaced, reshown, retuned } = diffConfigs(before, after)
  return new Set([...added, ...removed, ...replaced, ...reshown, ...retuned])
}

export const isSameSetting = (
  key: Exclude<keyof ProxyConfig, 'servers'>,
  one: ProxyConfig | undefined,
  other: ProxyConfig,
): boolean => isSameValue(one?.[key], other[key])

export const isNothing = (diff: ConfigDiff): boolean => {
  const { added, removed, replaced, reshown, retuned, settings } = diff
  return !diff.isReordered && [added, removed, replaced, reshown, retuned, settings].every(isEmpty)
}

const isEmpty = (list: readonly string[]): boolean => list.length === 0

type Effect = (typeof SERVER_KEYS)[keyof typeof SERVER_KEYS]

const effectsOf = (before: ServerConfig, after: ServerConfig): ReadonlySet<Effect> =>
  new Set(
    keysOf(SERVER_KEYS)
      .filter(key => !isSameValue(before[key], after[key]))
      .map(key => SERVER_KEYS[key]),
  )

const keysOf = <T extends object>(table: T): (keyof T)[] => Object.keys(table) as (keyof T)[]

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Deep equality; members that are undefined count as absent, and prototypes do not count. */
const isSameValue = (one: unknown, other: unknown): boolean => {
  if (!isRecord(one) || !isRecord(other)) return Object.is(one, other)
  if (Array.isArray(one) !== Array.isArray(other)) return false
  if (Array.isArray(one) && one.length !== other['length']) return false
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...keys].every(key => isSameValue(valueAt(one, key), valueAt(other, key)))
}

const valueAt = (record: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined

export const changesOf = (diff: ConfigDiff): object =>
  Object.fromEntries(
    Object.entries(diff).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value === true)),
  )
