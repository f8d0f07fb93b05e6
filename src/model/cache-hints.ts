import { type JsonText, kindOf, memberOf, stringOf, textOf, valueOf } from '../kernel/json/text.js'

/** For how long, and for whom, a client may keep a result (server/utilities/caching). */
export interface CacheHints {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

/** What one server contributes to a list: its hints, and how long ago it gave them. */
export interface Contribution extends CacheHints {
  readonly ageMs: number
}

/** Hints that let nobody keep anything. */
export const UNCACHED: CacheHints = { ttlMs: 0, cacheScope: 'private' }

export const hintMembers = ({ ttlMs, cacheScope }: CacheHints): readonly (readonly [string, JsonText])[] => [
  ['ttlMs', textOf(wholeMs(ttlMs))],
  ['cacheScope', textOf(cacheScope)],
]

/** Reads a modern server's hints; what is missing or makes no sense lets nobody keep the result. */
export const readCacheHints = (result: JsonText): CacheHints => {
  const ttl = memberOf(result, 'ttlMs')
  const ttlMs = ttl !== undefined && kindOf(ttl) === 'number' ? Number(valueOf(ttl)) : 0
  const isPublic = stringOf(memberOf(result, 'cacheScope')) === 'public'
  return { ttlMs: wholeMs(ttlMs), cacheScope: isPublic ? 'public' : 'private' }
}

/**
 * Merges the hints of several servers for one list: it lives as long as the part that ends first, and is
 * public only if all parts are and `isFiltered` does not say that users see different items.
 */
export const mergeHints = (contributions: readonly Contribution[], isFiltered = false): CacheHints => {
  if (contributions.length === 0) return UNCACHED
  const isPublic = !isFiltered && contributions.every(({ cacheScope }) => cacheScope === 'public')
  return {
    ttlMs: wholeMs(Math.min(...contributions.map(({ ttlMs, ageMs }) => ttlMs - ageMs))),
    cacheScope: isPublic ? 'public' : 'private',
  }
}

const wholeMs = (ms: number): number => Math.min(Math.max(Math.floor(ms), 0), Number.MAX_SAFE_INTEGER)
