import { LIST_NAMES, type ListName } from '../../model/listing.js'
import type { Connection } from '../../peers/connection.js'
import type { Listed } from '../listed.js'
import type { ConnectionLists } from './connection-lists.js'
import type { Reading } from './list-state.js'
import type { CachedProfile } from './profile-cache.js'

/** A server's data for the status. */
export type Summary = ReturnType<typeof summaryOf>

/** Summarizes the lists of a server's connections, the best connection first, or those in the cache. */
export const summaryOf = (
  connections: readonly Connection[],
  lists: ConnectionLists,
  cached: CachedProfile | undefined,
) => {
  const readings = (list: ListName): Reading[] =>
    connections.flatMap(connection => lists.all(connection, list).flatMap(({ known }) => known ?? []))
  const listed = (list: ListName): Listed | undefined => readings(list)[0]?.listed ?? cached?.lists[list]
  const count = (list: ListName): number => listed(list)?.items.length ?? 0
  return {
    listed,
    /** Time of the last reading of a list, on the clock; undefined if it is only cached. */
    readMs: (list: ListName): number | undefined => readings(list)[0]?.readMs,
    /** Returns whether a list was read to its end. */
    isWhole: (list: ListName): boolean => readings(list)[0]?.isWhole === true,
    facts: connections[0]?.facts ?? cached?.facts,
    items: {
      tools: count('tools'),
      prompts: count('prompts'),
      resources: count('resources'),
      templates: count('templates'),
      skills: count('skills'),
    },
    truncated: LIST_NAMES.filter(list => readings(list).some(({ cutAt }) => cutAt !== undefined)),
    /**
     * The lists that an open connection failed to read, with the reason and the start of the failure on the
     * clock.
     */
    unread: LIST_NAMES.flatMap(list => unreadOn(connections[0], lists, list)),
  }
}

const unreadOn = (best: Connection | undefined, lists: ConnectionLists, list: ListName) => {
  const states = best?.link === undefined ? [] : lists.all(best, list)
  const { unreadWhy: why, failingSinceMs: sinceMs = 0 } = states.find(one => one.unreadWhy) ?? {}
  return why === undefined ? [] : [{ list, why, sinceMs }]
}
