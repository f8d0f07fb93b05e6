import { kindOf, memberOf, rawText, withMember } from '../../kernel/json/text.js'
import { searchTools } from '../../search/search-tools.js'
import { digestOf, type Item, type Merged } from '../listed.js'
import type { Choice, Pins } from '../views/tool-exposure.js'
import type { Paged } from './page.js'

/** A list as clients receive it. */
export interface ShownList {
  /** Equal for lists with equal content. */
  readonly version: string
  readonly paged: Paged
}

interface Reach {
  readonly version: string
  readonly merged: Merged
}

/** Returns whether a client receives the full list unchanged. */
export const isPlainChoice = ({ mode, pins, loadsByNeed }: Choice): boolean =>
  mode === 'direct' && (pins === undefined || !loadsByNeed)

/**
 * Returns a client's tool list: everything with marked pins, or only the pins and the search tools. `reach`
 * holds the tools that the client can call, if there are pins.
 */
export const applyToolChoice = (
  { mode, pins, loadsByNeed }: Choice,
  reach: Reach | undefined,
  servers: readonly string[],
): ShownList => {
  if (mode === 'direct') {
    const parts = (): Paged['parts'] =>
      (reach?.merged.parts ?? []).map(part => ({
        ...part,
        items: part.items.map(item => (pins?.has(item.exposed) === true ? alwaysLoaded(item) : item)),
      }))
    return listOf(digestOf([reach?.version ?? '', pins?.id ?? '']), parts)
  }
  const own = searchTools(servers)
  const pinned = pins === undefined || reach === undefined ? [] : pinnedIn(reach.merged, pins, loadsByNeed)
  const parts = [{ index: 0, alias: '', items: own }, ...pinned]
  const texts = parts.flatMap(({ items }) => items.map(({ text }) => text))
  return listOf(digestOf(texts), () => parts)
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

const pinnedIn = ({ parts }: Merged, pins: Pins, isMarked: boolean): Paged['parts'] => {
  let left = pins.max
  return parts.flatMap(({ index, alias, items }) => {
    const kept = items.filter(({ exposed }) => pins.has(exposed)).slice(0, left)
    left -= kept.length
    return kept.length === 0 ? [] : [{ index, alias, items: isMarked ? kept.map(alwaysLoaded) : kept }]
  })
}

/** Marks a tool as always needed, for clients that load tools on demand. */
const alwaysLoaded = ({ own, text }: Item): Pick<Item, 'own' | 'text'> => {
  const said = memberOf(text, '_meta')
  const meta = said !== undefined && kindOf(said) === 'object' ? said : rawText('{}')
  return { own, text: withMember(text, '_meta', withMember(meta, 'anthropic/alwaysLoad', rawText('true'))) }
}
