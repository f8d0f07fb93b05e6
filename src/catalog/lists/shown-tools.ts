import { kindOf, memberOf, rawText, withMember } from '../../kernel/json/text.js'
import { searchTools } from '../search/search-tools.js'
import type { Choice, Pins } from '../views/exposing.js'
import { digestOf, type Item } from './listed.js'
import type { Merged } from './merge.js'
import type { Paged } from './page.js'

/** A list as clients are given it. */
export interface ShownList {
  /** Equal for lists that look the same. */
  readonly version: string
  readonly paged: Paged
}

interface Reach {
  readonly version: string
  readonly merged: Merged
}

/** Whether a client is shown what there is, as it is. */
export const isPlain = ({ mode, pins, loadsByNeed }: Choice): boolean =>
  mode === 'direct' && (pins === undefined || !loadsByNeed)

/**
 * What a client lists of all there is: with the pins marked, or only those and what searches the others.
 * `reach`: what the client can call, if there are pins.
 */
export const showTools = (
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

/** Says to a client that loads tools by need that this one is always needed. */
const alwaysLoaded = ({ own, text }: Item): Pick<Item, 'own' | 'text'> => {
  const said = memberOf(text, '_meta')
  const meta = said !== undefined && kindOf(said) === 'object' ? said : rawText('{}')
  return { own, text: withMember(text, '_meta', withMember(meta, 'anthropic/alwaysLoad', rawText('true'))) }
}
