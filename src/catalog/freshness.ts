import type { JsonText } from '../kernel/json-text.js'
import type { Item } from './snapshot.js'

/** What we know of one list of one server. */
export type ListState =
  | { readonly at: 'unread' }
  | {
      readonly at: 'read'
      /** As the server sent them, to tell whether anything really changed. */
      readonly raw: readonly JsonText[]
      readonly items: readonly Item[]
      readonly readMs: number
    }

export const UNREAD: ListState = { at: 'unread' }

/** The items that can be shown now. */
export const freshItems = (state: ListState): readonly Item[] => (state.at === 'read' ? state.items : [])

/** Whether a server's list is the same, byte for byte. */
export const isSame = (before: readonly JsonText[], after: readonly JsonText[]): boolean =>
  before.length === after.length && before.every((item, index) => after[index]?.equals(item) === true)
