import { kindOf, memberOf, rawText, withMember } from '../../kernel/json/text.js'
import { isSearchTool, searchTools } from '../../search/search-tools.js'
import { hasInterface } from '../app-facts.js'
import { digestOf, type Item, isOnlyForApps, type Merged, mergedForModels } from '../listed.js'
import type { Choice } from '../views/tool-exposure.js'
import { ownNamesIn } from './app-tools.js'
import type { MergedList } from './merge.js'
import type { Paged, PagedPart, ShownList } from './page.js'

/** The tools that a client can call. */
export interface ListReach {
  readonly list: MergedList
  /** Whether tools for apps only are in the list of this client, and left out of it. */
  readonly showsApps: boolean
  readonly hidesApps: boolean
}

/** Returns whether a client receives the full list unchanged. */
export const isPlainChoice = ({ mode, pins, loadsByNeed }: Choice): boolean =>
  mode === 'direct' && (pins === undefined || !loadsByNeed)

/**
 * Returns a client's tool list: everything with marked pins, or only the search tools, the pins and what the
 * host of an app needs. `reach` is undefined if the list depends on no server.
 */
export const applyToolChoice = (
  choice: Choice,
  reach: ListReach | undefined,
  servers: readonly string[],
): ShownList => {
  if (choice.mode === 'direct' && reach !== undefined) return withMarkedPins(choice, reach)
  const parts = [
    { index: 0, alias: '', items: searchTools(servers) },
    ...(reach ? keptIn(choice, reach) : []),
  ]
  const texts = parts.flatMap(({ items }) => items.map(({ text }) => text))
  return listOf(digestOf(texts), () => parts)
}

const withMarkedPins = ({ pins }: Choice, { list, showsApps, hidesApps }: ListReach): ShownList => {
  const version = hidesApps ? list.modelVersion : list.version
  return listOf(digestOf([version, pins?.id ?? '']), () => {
    const { parts } = hidesApps ? mergedForModels(list.merged) : list.merged
    const isPinned = pinnedBy(pins)
    const marked = parts.map(part => ({
      ...part,
      items: part.items.map(item => (isPinned(item) ? alwaysLoaded(item) : item)),
    }))
    return showsApps ? [...marked, ownNamesIn(list.merged)] : marked
  })
}

const listOf = (version: string, parts: () => Paged['parts']): ShownList => {
  let made: Paged | undefined
  return {
    version,
    get paged() {
      made ??= { parts: parts(), pages: new Map() }
      return made
    },
  }
}

const pinnedBy =
  (pins: Choice['pins']) =>
  (item: Item): boolean =>
    pins?.has(item.exposed) === true && !isOnlyForApps(item)

/** Returns the tools that stay listed in search mode: hosts open the interfaces of listed tools only. */
const keptIn = ({ pins, max, loadsByNeed }: Choice, { list, showsApps }: ListReach): readonly PagedPart[] => {
  const { parts }: Merged = list.merged
  const all = mergedForModels(list.merged).parts.flatMap(({ items }) => items)
  const opening = showsApps ? all.filter(({ app }) => hasInterface(app)) : []
  const kept = new Set([...new Set([...all.filter(pinnedBy(pins)), ...opening])].slice(0, max))
  const shown = parts.map(part => ({
    ...part,
    items: part.items.flatMap(item => {
      if (kept.has(item)) return [loadsByNeed ? alwaysLoaded(item) : item]
      return showsApps && isOnlyForApps(item) ? [item] : []
    }),
  }))
  if (!showsApps) return shown
  const { items, ...part } = ownNamesIn(list.merged)
  // The proxy answers calls of its search tools itself.
  return [...shown, { ...part, items: items.filter(({ own }) => !isSearchTool(own)) }]
}

/** Marks a tool as always needed, for clients that load tools on demand. */
const alwaysLoaded = ({ own, text }: Item): Pick<Item, 'own' | 'text'> => {
  const said = memberOf(text, '_meta')
  const meta = said !== undefined && kindOf(said) === 'object' ? said : rawText('{}')
  return { own, text: withMember(text, '_meta', withMember(meta, 'anthropic/alwaysLoad', rawText('true'))) }
}
