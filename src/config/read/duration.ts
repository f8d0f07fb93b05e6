import { MAX_DURATION_MS } from '../defaults.js'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** A duration as the schema lets it through, in milliseconds: a number, "500ms", "30s", "5m", "1h", or "off". */
export function durationMs(value: number | string): number {
  if (typeof value === 'number') return Math.round(value)
  if (value === 'off') return Number.POSITIVE_INFINITY
  const parts = /^([\d.]+)(ms|s|m|h)$/.exec(value)
  return Math.round(Number(parts?.[1] ?? Number.NaN) * (UNITS[parts?.[2] ?? ''] ?? 1))
}

/** Whether a duration can be waited for by a timer, or is off. */
export const isWaitable = (ms: number): boolean => ms === Number.POSITIVE_INFINITY || ms <= MAX_DURATION_MS
