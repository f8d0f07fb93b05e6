import { SCOPES_MAX } from './challenges.js'
import type { StepUp } from './record.js'

const ATTEMPTS_MAX = 3
const TOTAL_MAX = 9
const WINDOW_MS = 10 * 60_000

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every(scope => other.includes(scope))

const union = (...lists: readonly (readonly string[] | undefined)[]): readonly string[] => [
  ...new Set(lists.flatMap(list => list ?? [])),
]

interface Challenged {
  readonly challenged: readonly string[] | undefined
  /** Scopes requested by the last login. */
  readonly asked: readonly string[] | undefined
  readonly nowMs: number
}

/**
 * Adds the scopes of a refusal (2026-07-28, basic/authorization, "Step-Up Authorization Flow") to those
 * requested before; keeps the latest of too many. A login that has just requested them counts.
 */
export const wantMore = (before: StepUp | undefined, { challenged, asked, nowMs }: Challenged): StepUp => {
  const last = current(before, nowMs)
  const scopes = union(asked, last?.scopes, challenged).slice(-SCOPES_MAX)
  if (last !== undefined && isSame(last.scopes, scopes)) return last
  const attempts = isSame(asked ?? [], scopes) ? 1 : 0
  return { scopes, attempts, total: last?.total ?? attempts, sinceMs: last?.sinceMs ?? nowMs }
}

/** Counts a login for the missing scopes; 'too-many' if the limit is reached. */
export const countLogin = (before: StepUp | undefined, nowMs: number): StepUp | 'too-many' | undefined => {
  const last = current(before, nowMs)
  if (last === undefined) return undefined
  if (last.attempts >= ATTEMPTS_MAX || last.total >= TOTAL_MAX) return 'too-many'
  return { ...last, attempts: last.attempts + 1, total: last.total + 1 }
}

/** Returns the current state, reset after its lifetime, or if its time is in the future. */
const current = (before: StepUp | undefined, nowMs: number): StepUp | undefined => {
  if (before === undefined) return undefined
  const ageMs = nowMs - before.sinceMs
  const isNow = ageMs >= 0 && ageMs < WINDOW_MS
  return isNow ? before : { ...before, attempts: 0, total: 0, sinceMs: nowMs }
}
