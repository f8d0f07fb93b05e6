import { textOf, withAt } from '../../kernel/json/text.js'
import { memoize } from '../../kernel/memoize.js'
import { UI } from '../../model/extensions.js'
import type { Client } from '../../model/links.js'
import { hasItemMeta } from '../../model/peer.js'
import { hasInterface } from '../app-facts.js'
import { type Item, isOnlyForApps, type Merged, mergedForModels } from '../listed.js'
import { isUnderOtherAlias, type MergedList } from './merge.js'
import type { PagedPart, ShownList } from './page.js'

/** The tools of apps in a merged list (ext-apps, SEP-1865). */
interface AppTools {
  /** Tools that apps may call, by their own names, as apps name them. */
  readonly byOwn: ReadonlyMap<string, readonly Item[]>
  /** Tools of servers with interfaces, which are also listed under their own names. */
  readonly bare: readonly Item[]
  readonly hasInterfaces: boolean
  /** True if some tools are for apps only. */
  readonly hasHidden: boolean
}

/** Returns whether a client shows apps; without `_meta`, hosts find no interface and hide no tool. */
export const showsApps = (client: Pick<Client, 'capabilities' | 'revision'>): boolean =>
  client.capabilities.declared?.extensions.has(UI) === true && hasItemMeta(client)

/** Reads a merged tool list once. */
export const appToolsIn = memoize(({ parts, byExposed }: Merged): AppTools => {
  const aliases = new Set(parts.map(({ alias }) => alias))
  const byOwn = new Map<string, Item[]>()
  const withInterfaces = new Set<number>()
  let hasHidden = false
  for (const { index, alias, items } of parts)
    for (const item of items) {
      const { own, app, isOurs } = item
      if (hasInterface(app)) withInterfaces.add(index)
      hasHidden ||= isOnlyForApps(item)
      // Otherwise a server could receive calls meant for a tool that another one lists later.
      if (isOurs === true || app?.isForApps === false || isUnderOtherAlias(own, alias, aliases)) continue
      const same = byOwn.get(own)
      if (same === undefined) byOwn.set(own, [item])
      else same.push(item)
    }
  const bare = [...byOwn.values()].flatMap(([item, ...others]) =>
    item !== undefined &&
    others.length === 0 &&
    withInterfaces.has(item.server.index) &&
    !byExposed.has(item.own)
      ? [item]
      : [],
  )
  return { byOwn, bare, hasInterfaces: withInterfaces.size > 0, hasHidden }
})

/** Not the alias of a server. */
const OWN_NAMES = '__'
const FOR_APPS = textOf(['app'])

/** Returns the entries under own names. Hosts find the tools of apps by them, and hide them from models. */
export const ownNamesIn = memoize((merged: Merged): PagedPart => {
  const index = Math.max(-1, ...merged.parts.map(part => part.index)) + 1
  return { index, alias: OWN_NAMES, items: appToolsIn(merged).bare.map(underOwnName) }
})

const underOwnName = ({ own, text }: Item): Pick<Item, 'own' | 'text'> => {
  const named = withAt(text, ['name'], textOf(own))
  return { own, text: withAt(named, ['_meta', 'ui', 'visibility'], FOR_APPS) }
}

/** Returns whether clients that show apps see another list, in a list of all tools or in search mode. */
export const differsForApps = (merged: Merged, isSearched: boolean): boolean => {
  const { bare, hasHidden, hasInterfaces } = appToolsIn(merged)
  return hasHidden || bare.length > 0 || (isSearched && hasInterfaces)
}

/** Returns the tool list for clients that show apps; the version of the list decides about it as well. */
export const listForApps = memoize((list: MergedList): ShownList => {
  let paged: ShownList['paged'] | undefined
  return {
    get version() {
      return list.version
    },
    get paged() {
      const { merged } = list
      if (appToolsIn(merged).bare.length === 0) return merged
      paged ??= { parts: [...merged.parts, ownNamesIn(merged)], pages: new Map() }
      return paged
    },
  }
})

/** Returns the tool list for clients that do not show apps. */
export const listForModels = memoize(
  (list: MergedList): ShownList => ({
    get version() {
      return list.modelVersion
    },
    get paged() {
      return mergedForModels(list.merged)
    },
  }),
)
