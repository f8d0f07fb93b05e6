import { RELOAD } from './schema/settings.generated.js'
import type { AuthConfig, ProxyConfig, ServerConfig } from './types.js'

/** The changes of a new configuration: names of servers, and keys of settings. */
export interface ConfigDiff {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  /** A new server replaces the running one. */
  readonly replaced: readonly string[]
  /** The names, URIs or tools of the running server change for clients. */
  readonly reshown: readonly string[]
  /** Timeouts, limits or behaviour of the running server change. */
  readonly retuned: readonly string[]
  readonly isReordered: boolean
  /** Settings that apply at once. */
  readonly settings: readonly string[]
  /** Settings that apply after a restart. */
  readonly needRestart: readonly string[]
}

/** The effect of a changed value on a running server. */
const SERVER_EFFECTS = RELOAD.server satisfies Record<
  Exclude<keyof ServerConfig, 'name' | 'written'>,
  { readonly reload: string }
>

/** The key of each setting in a file, and its reload class. */
const SETTINGS = RELOAD.proxy satisfies Record<
  Exclude<keyof ProxyConfig, 'servers' | 'waiting' | 'variables'>,
  { readonly key: string; readonly reload: string }
>

/** The configuration in force after a reload: settings that need a restart keep their values. Pure. */
export const configInForce = (running: ProxyConfig, next: ProxyConfig): ProxyConfig => {
  const kept = keysOf(SETTINGS).filter(key => SETTINGS[key].reload === 'restart')
  const old = Object.fromEntries(kept.map(key => [key, running[key]])) as Partial<ProxyConfig>
  return { ...next, ...old, auth: authInForce(running.auth, next.auth) }
}

const authInForce = (running: AuthConfig | undefined, next: AuthConfig | undefined) => {
  if (running === undefined || next === undefined) return running
  const { people, grants, scopeImplies } = next
  return { ...running, people, grants, scopeImplies }
}

/**
 * Returns the configuration in force without the users, tokens, subjects and scopes that another `auth`
 * lacks; undefined if it lacks none. Pure.
 */
export const withoutRemovedUsers = (running: ProxyConfig, next: AuthConfig): ProxyConfig | undefined => {
  if (running.auth === undefined) return undefined
  const kept = new Map(next.people.map(person => [person.name, person]))
  const people = running.auth.people.flatMap(person => {
    const other = kept.get(person.name)
    if (other === undefined) return []
    const tokens = person.tokens.filter(({ sha256 }) => other.tokens.some(each => each.sha256 === sha256))
    const subjects = person.subjects.filter(({ issuer, sub }) =>
      other.subjects.some(each => each.issuer === issuer && each.sub === sub),
    )
    const scopes = scopesInBoth(person.scopes, other.scopes, running.auth?.baseScope)
    return [{ ...person, tokens, subjects, scopes }]
  })
  return isSameValue(people, running.auth.people)
    ? undefined
    : { ...running, auth: { ...running.auth, people } }
}

/** Undefined means the base scope alone. */
const scopesInBoth = (
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
  base = '',
): readonly string[] | undefined => {
  const kept = other ?? [base]
  const scopes = (one ?? [base]).filter(scope => kept.includes(scope))
  return scopes.length === (one ?? [base]).length ? one : scopes
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
    keysOf(SETTINGS).flatMap(key => (isSameValue(one[key], other[key]) ? [] : SETTINGS[key].key))
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

export const isSameSetting = <K extends Exclude<keyof ProxyConfig, 'servers'>>(
  key: K,
  one: Pick<ProxyConfig, K> | undefined,
  other: Pick<ProxyConfig, K>,
): boolean => isSameValue(one?.[key], other[key])

export const isNothing = (diff: ConfigDiff): boolean => {
  const { added, removed, replaced, reshown, retuned, settings } = diff
  return !diff.isReordered && [added, removed, replaced, reshown, retuned, settings].every(isEmpty)
}

const isEmpty = (list: readonly string[]): boolean => list.length === 0

type Effect = (typeof SERVER_EFFECTS)[keyof typeof SERVER_EFFECTS]['reload']

const effectsOf = (before: ServerConfig, after: ServerConfig): ReadonlySet<Effect> =>
  new Set(
    keysOf(SERVER_EFFECTS)
      .filter(key => !isSameValue(before[key], after[key]))
      .map(key => SERVER_EFFECTS[key].reload),
  )

const keysOf = <T extends object>(table: T): (keyof T)[] => Object.keys(table) as (keyof T)[]

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Deep equality, in which undefined members count as absent and prototypes are ignored. */
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
