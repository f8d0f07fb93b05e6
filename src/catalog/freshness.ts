import type { Timer } from '../kernel/clock.js'
import type { JsonText } from '../kernel/json-text.js'
import type { Contribution } from '../model/cache-hints.js'
import type { Item } from './snapshot.js'
import type { Walked } from './walk.js'

/** What a server last said about one of its lists. */
interface Reading {
  readonly walked: Walked
  readonly items: readonly Item[]
  readonly readMs: number
  /** It was not read, but remembered from the last time that its server ran. */
  readonly isRecalled: boolean
}

/** One list of one server: what we know of it, and what is being done to know it better. */
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
export const isStale = ({ walked, readMs }: Reading, nowMs: number): boolean =>
  nowMs - readMs >= Math.min(STALE_MS, walked.hints?.ttlMs ?? STALE_MS)

/** For how long clients may keep what a server has in a list; undefined if not at all, as when we would not keep it ourselves. */
export const contributionOf = ({ known, isDue, reading }: Slice, nowMs: number): Contribution | undefined => {
  if (isDue || reading !== undefined || known?.walked.isWhole !== true) return undefined
  const { hints } = known.walked
  return hints && { ttlMs: hints.ttlMs, cacheScope: hints.cacheScope, ageMs: nowMs - known.readMs }
}

/** A list of a server that has none. */
export const NOTHING: Walked = { items: [], isWhole: true }

/** Whether a server sent the same list again, byte for byte. */
export const isSame = (before: readonly JsonText[], after: readonly JsonText[]): boolean =>
  before.length === after.length && before.every((item, index) => after[index]?.equals(item) === true)

/** Whether clients see the same list as before; what is hidden from them may have changed. */
export const looksSame = (before: readonly Item[], after: readonly Item[]): boolean =>
  isSame(
    before.map(({ text }) => text),
    after.map(({ text }) => text),
  )
