import type { Timer } from '../../kernel/async/clock.js'
import type { Contribution } from '../../model/cache-hints.js'
import type { ReadList } from './list-reader.js'
import type { Listed } from './listed.js'

/** What a server last said on a connection about one of its lists. */
export interface Reading extends Omit<ReadList, 'items'> {
  readonly listed: Listed
  readonly readMs: number
}

/** One list as a connection has it: what we know of it, and what is being done to know it better. */
export interface Slice {
  known: Reading | undefined
  /** Something happened after the last reading began: it does not count as fresh, whatever its age. */
  isDue: boolean
  /** Since when it cannot be read. */
  failingSinceMs: number | undefined
  reading: Promise<void> | undefined
  /** Runs until a burst of changes is over. */
  burst: Timer | undefined
  /** When the last burst began that the server told of, or will begin. */
  burstMs: number
}

/** A list that was never read. */
export const createSlice = (): Slice => ({
  known: undefined,
  isDue: false,
  failingSinceMs: undefined,
  reading: undefined,
  burst: undefined,
  burstMs: Number.NEGATIVE_INFINITY,
})

/** A server that does not tell of changes is asked again when a client asks and its list is older than this. */
const STALE_MS = 30_000

/** Whether a list that no change was heard of is too old to be shown; what its server says can only shorten its life. */
export const isStale = ({ hints, readMs }: Reading, nowMs: number): boolean =>
  nowMs - readMs >= Math.min(STALE_MS, hints?.ttlMs ?? STALE_MS)

/** For how long clients may keep what a server has in a list; undefined if not at all, as when we would not keep it ourselves. */
export const contributionOf = (slice: Slice | undefined, nowMs: number): Contribution | undefined => {
  const { known, isDue = true, reading } = slice ?? {}
  if (isDue || reading !== undefined || known?.isWhole !== true) return undefined
  const { hints, readMs } = known
  return hints && { ttlMs: hints.ttlMs, cacheScope: hints.cacheScope, ageMs: nowMs - readMs }
}
