import { mayContain } from '../../kernel/json/edit.js'
import {
  at,
  elementsOf,
  type JsonText,
  kindOf,
  some,
  stringOf,
  textOf,
  withAt,
} from '../../kernel/json/text.js'
import { UI } from '../../model/extensions.js'
import type { Client } from '../../model/links.js'
import type { Server } from '../../peers/server.js'
import { digestOf, type Item, type Merged } from '../listed.js'
import type { Paged } from './page.js'
import type { ShownList } from './shown-tools.js'

/** The tools of apps in a merged list (ext-apps, SEP-1865). */
interface AppTools {
  /** Exposed names of tools that only apps may call. */
  readonly onlyApps: ReadonlySet<string>
  /** Tools that apps may call, by their own names, as apps name them. */
  readonly byOwn: ReadonlyMap<string, readonly Item[]>
  /** Tools of servers with interfaces, under their own names. */
  readonly bare: readonly Pick<Item, 'own' | 'text'>[]
  /** The lists for clients that show apps, and for others, once computed. */
  readonly lists: { shown?: ShownList; hidden?: ShownList }
}

/** Returns whether a client declared that it shows apps. */
export const showsApps = ({ capabilities: { declared } }: Pick<Client, 'capabilities'>): boolean =>
  declared?.extensions.has(UI) === true

/** Returns whether a tool names a user; a tool that names none is for models and apps. */
const isFor = ({ text }: Item, user: 'model' | 'app'): boolean => {
  if (!mayContain(text, '"visibility"')) return true
  const visibility = at(text, '_meta', 'ui', 'visibility')
  if (visibility === undefined || kindOf(visibility) !== 'array') return true
  return some(elementsOf(visibility), one => stringOf(one) === user)
}

/** Computed once for each merged list. */
const known = new WeakMap<Merged, AppTools>()

export const appToolsIn = (merged: Merged): AppTools => {
  let found = known.get(merged)
  if (found === undefined) {
    found = readAppTools(merged)
    known.set(merged, found)
  }
  return found
}

const readAppTools = ({ byExposed }: Merged): AppTools => {
  const items = [...byExposed.values()].filter(({ isOurs }) => isOurs !== true)
  const byOwn = new Map<string, Item[]>()
  const apps = new Set<Server>()
  const onlyApps = new Set<string>()
  for (const item of items) {
    if (item.hasInterface === true) apps.add(item.server)
    if (!isFor(item, 'model')) onlyApps.add(item.exposed)
    if (!isFor(item, 'app')) continue
    const same = byOwn.get(item.own)
    if (same === undefined) byOwn.set(item.own, [item])
    else same.push(item)
  }
  if (apps.size === 0 && onlyApps.size === 0) return { onlyApps, byOwn, bare: [], lists: {} }
  const bare = items.filter(
    ({ server, own }) => apps.has(server) && byOwn.get(own)?.length === 1 && !byExposed.has(own),
  )
  return { onlyApps, byOwn, bare: bare.filter(item => isFor(item, 'app')).map(underOwnName), lists: {} }
}

const FOR_APPS = textOf(['app'])

/** Hosts find the tools of an app by these names, and hide them from the model. */
const underOwnName = ({ own, text }: Item): Pick<Item, 'own' | 'text'> => {
  const named = withAt(text, ['name'], textOf(own))
  return { own, text: withAt(named, ['_meta', 'ui', 'visibility'], FOR_APPS) }
}

/** Returns whether clients that show apps see another list. */
export const differsForApps = (merged: Merged): boolean => {
  const { onlyApps, bare } = appToolsIn(merged)
  return onlyApps.size > 0 || bare.length > 0
}

/** Returns the tool list for clients that show apps, or for those that do not; computed once for each. */
export const listForApps = (list: ShownList & { readonly merged: Merged }, shows: boolean): ShownList => {
  const tools = appToolsIn(list.merged)
  if (shows ? tools.bare.length === 0 : tools.onlyApps.size === 0) return list
  const key = shows ? 'shown' : 'hidden'
  tools.lists[key] ??= listOf(list.merged.parts, tools, shows)
  return tools.lists[key]
}

const listOf = (parts: Merged['parts'], { onlyApps, bare }: AppTools, shows: boolean): ShownList => {
  const index = Math.max(-1, ...parts.map(part => part.index)) + 1
  const shown: Paged['parts'] = shows
    ? [...parts, { index, alias: '', items: bare }]
    : parts.map(part => ({ ...part, items: part.items.filter(({ exposed }) => !onlyApps.has(exposed)) }))
  const texts = shown.flatMap(({ items }) => items.map(({ text }): JsonText => text))
  return { version: digestOf(['apps', ...texts]), paged: { parts: shown, pages: new Map() } }
}
