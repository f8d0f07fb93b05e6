import { type JsonText, kindOf, memberOf, stringOf, textOf, valueOf } from '../kernel/json/text.js'

/** The lifetime and audience of a cached result (server/utilities/caching). */
export interface CacheHints {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

/** The hints of one server for its part of a list, and their age. */
export interface Contribution extends CacheHints {
  readonly ageMs: number
}

/** Hints that forbid caching. */
export const UNCACHED: CacheHints = { ttlMs: 0, cacheScope: 'private' }

export const hintMembers = ({ ttlMs, cacheScope }: CacheHints): readonly (readonly [string, JsonText])[] => [
  ['ttlMs', textOf(wholeMs(ttlMs))],
  ['cacheScope', textOf(cacheScope)],
]

/** Reads a modern server's hints; missing or invalid ones forbid caching. */
export const readCacheHints = (result: JsonText): CacheHints => {
  const ttl = memberOf(result, 'ttlMs')
  const ttlMs = ttl !== undefined && kindOf(ttl) === 'number' ? Number(valueOf(ttl)) : 0
  const isPublic = stringOf(memberOf(result, 'cacheScope')) === 'public'
  return { ttlMs: wholeMs(ttlMs), cacheScope: isPublic ? 'public' : 'private' }
}

/**
 * Merges the hints of several servers for one list. It expires with the first part, and is public only if all
 * parts are and `isFiltered` is not set, because then users see different items.
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
