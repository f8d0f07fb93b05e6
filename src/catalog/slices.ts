import type { ListName } from '../model/listing.js'
import type { ServerFacts } from '../model/peer.js'
import { createSlice, type Slice } from './freshness.js'
import type { Known } from './known.js'
import type { ServerView } from './snapshot.js'
import { LIST_NAMES, LISTS } from './walk.js'

/** The lists of one server. */
export type Slices = Readonly<Record<ListName, Slice>>

/** Whether a server that says this about itself has a list at all. */
export const offers = ({ capabilities }: ServerFacts, list: ListName): boolean =>
  capabilities[LISTS[list].capability] !== undefined

const createSlices = (): Slices => ({
  tools: createSlice(),
  prompts: createSlice(),
  resources: createSlice(),
  templates: createSlice(),
})

/** What a new server is taken to list until it has said so: nothing, or what the one before it did. */
export const inheritedSlices = (from: Slices | undefined, view: ServerView, nowMs: number): Slices => {
  const slices = createSlices()
  for (const list of LIST_NAMES) {
    const known = from?.[list].known
    if (known === undefined) continue
    slices[list].known = { ...known, items: view.show(list, known.walked.items), readMs: nowMs }
    slices[list].isDue = true
  }
  return slices
}

/** What a server listed when it last ran: shown until it is read, which need not start it. */
export const recalledSlices = ({ facts, lists }: Known, view: ServerView, nowMs: number): Slices => {
  const slices = createSlices()
  for (const list of LIST_NAMES) {
    const items = offers(facts, list) ? lists[list] : []
    if (items === undefined) continue
    const walked = { items, isWhole: true }
    slices[list].known = { walked, items: view.show(list, items), readMs: nowMs, isRecalled: true }
  }
  return slices
}

/** What is to be remembered of a server: the lists that it has, as far as they were read to their end. */
export const knownOf = (facts: ServerFacts | undefined, slices: Slices | undefined): Known | undefined => {
  if (facts === undefined || slices === undefined) return undefined
  const whole = LIST_NAMES.flatMap(list => {
    const { known, isDue } = slices[list]
    // What is due may be a list that was dropped, or is another one by now.
    const walked = isDue ? undefined : known?.walked
    return walked?.isWhole === true && offers(facts, list) ? [[list, walked.items] as const] : []
  })
  return { facts, lists: Object.fromEntries(whole) }
}

/** The same lists under other names, or other items of them. */
export const showAnew = (slices: Slices, view: ServerView): void => {
  for (const list of LIST_NAMES) {
    const { known } = slices[list]
    if (known !== undefined) slices[list].known = { ...known, items: view.show(list, known.walked.items) }
  }
}
