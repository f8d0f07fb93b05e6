import type { Timer } from '../../kernel/async/clock.js'
import type { Fault } from '../../kernel/faults.js'
import type { ListName } from '../../model/listing.js'
import type { Connection } from '../../peers/connection.js'
import type { DeclaredSet } from '../../peers/declared-sets.js'
import type { OwnPeerRequest } from '../../peers/own-requests.js'
import type { Listed } from '../listed.js'
import type { ReadList } from './list-reader.js'

/** The result of reading a list. */
export interface Reading extends Omit<ReadList, 'items'> {
  readonly listed: Listed
  readonly readMs: number
  /** The connection that was open then; undefined for a list that was emptied. */
  readonly link: Connection['link']
}

/** One list of a connection. */
export interface ListState {
  readonly connection: Connection
  readonly list: ListName
  /** What the clients of the list declared. */
  readonly declared: DeclaredSet
  known: Reading | undefined
  /** True if the list may have changed since the last reading began; it is then outdated at any age. */
  isDue: boolean
  failingSinceMs: number | undefined
  /** The reason why an open connection failed to read the list last time; undefined after a success. */
  unreadWhy: Fault | undefined
  reading: { readonly done: Promise<void>; readonly own: OwnPeerRequest } | undefined
  /** Runs while changes are being merged. */
  debounce: Timer | undefined
  /** Start of the merge window, now or planned, for announced changes. */
  debouncedMs: number
}

/** The lists of a connection, for clients with equal declarations. */
export type ListStates = Readonly<Record<ListName, ListState>>

export const newListStates = (connection: Connection, declared: DeclaredSet): ListStates => {
  const create = (list: ListName): ListState => newListState(connection, list, declared)
  return {
    tools: create('tools'),
    prompts: create('prompts'),
    resources: create('resources'),
    templates: create('templates'),
    skills: create('skills'),
  }
}

const newListState = (connection: Connection, list: ListName, declared: DeclaredSet): ListState => ({
  connection,
  list,
  declared,
  known: undefined,
  isDue: false,
  failingSinceMs: undefined,
  unreadWhy: undefined,
  reading: undefined,
  debounce: undefined,
  debouncedMs: Number.NEGATIVE_INFINITY,
})
