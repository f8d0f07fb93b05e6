import type { ProxyConfig, ServerConfig } from './types.js'

/** What another configuration changes in a proxy that runs; servers by name, settings as the file calls them. */
export interface ConfigDiff {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** Started or reached in another way: what runs ends, and another one takes its place. */
  readonly replaced: readonly string[]
  /** What runs goes on, and clients see it under other names, or other tools of it. */
  readonly reshown: readonly string[]
  /** What runs goes on with other time limits or habits. */
  readonly retuned: readonly string[]
  /** Whether those that stay stand in another order. */
  readonly isReordered: boolean
  /** Settings beside the servers that hold from now on. */
  readonly settings: readonly string[]
  /** Settings that hold only after a restart. */
  readonly needRestart: readonly string[]
}

/** What a change of a key does to a server that runs. `written` is for printing only. */
const SERVER_KEYS = {
  transport: 'replaced',
  sharing: 'replaced',
  era: 'replaced',
  protocolVersion: 'replaced',
  prefix: 'reshown',
  uris: 'reshown',
  tools: 'reshown',
  start: 'retuned',
  timeouts: 'retuned',
  replay: 'retuned',
  serialize: 'retuned',
  limits: 'retuned',
  restart: 'retuned',
  idleStopMs: 'retuned',
} as const satisfies Record<
  Exclude<keyof ServerConfig, 'name' | 'written'>,
  'replaced' | 'reshown' | 'retuned'
>

/** How a file calls a setting, and whether it can change while we run. */
const SETTINGS = {
  listen: { key: 'listen', isLive: false },
  pageSize: { key: 'pageSize', isLive: true },
  startupWaitMs: { key: 'startupWait', isLive: true },
  drainMs: { key: 'drain', isLive: true },
  limits: { key: 'limits', isLive: true },
  audit: { key: 'audit', isLive: false },
  logLevel: { key: 'log.level', isLive: true },
  stateKeys: { key: 'requestState.keys', isLive: false },
  knownServers: { key: 'knownServers', isLive: false },
} as const satisfies Record<
  Exclude<keyof ProxyConfig, 'servers' | 'variables'>,
  { readonly key: string; readonly isLive: boolean }
>

/** What has to be done to a proxy that runs with `before` so that it runs with `after`. Pure. */
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
  const settings = keysOf(SETTINGS).filter(key => !isSameValue(before[key], after[key]))
  return {
    added: [...names].filter(name => !old.has(name)),
    removed: [...old.keys()].filter(name => !names.has(name)),
    replaced,
    reshown: having('reshown'),
    retuned: having('retuned'),
    isReordered: pairs.some(({ name }, index) => name !== staying[index]),
    settings: settings.filter(key => SETTINGS[key].isLive).map(key => SETTINGS[key].key),
    needRestart: settings.filter(key => !SETTINGS[key].isLive).map(key => SETTINGS[key].key),
  }
}

/** Whether two configurations say the same in one setting. */
export const isSameSetting = (
  key: Exclude<keyof ProxyConfig, 'servers'>,
  one: ProxyConfig | undefined,
  other: ProxyConfig,
): boolean => isSameValue(one?.[key], other[key])

/** Whether a change leaves everything that runs as it is. */
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

/** Equal all the way down; members that are undefined count as absent, and prototypes do not count. */
const isSameValue = (one: unknown, other: unknown): boolean => {
  if (!isRecord(one) || !isRecord(other)) return Object.is(one, other)
  if (Array.isArray(one) !== Array.isArray(other)) return false
  if (Array.isArray(one) && one.length !== other['length']) return false
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...keys].every(key => isSameValue(valueAt(one, key), valueAt(other, key)))
}

/** A record with a prototype has members that nobody wrote. */
const valueAt = (record: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** What there is to say about a change: without what stays as it is. */
export const changesOf = (diff: ConfigDiff): object =>
  Object.fromEntries(
    Object.entries(diff).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value === true)),
  )
