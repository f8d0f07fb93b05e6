import { MAX_DURATION_MS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import type { Item } from '../file/tree.js'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** A duration as the schema lets it through, in milliseconds: a number, "500ms", "30s", "5m", "1h", or "off". */
export function durationMs(value: number | string): number {
  if (typeof value === 'number') return Math.round(value)
  if (value === 'off') return Number.POSITIVE_INFINITY
  const parts = /^([\d.]+)(ms|s|m|h)$/.exec(value)
  return Math.round(Number(parts?.[1] ?? Number.NaN) * (UNITS[parts?.[2] ?? ''] ?? 1))
}

/** Whether a duration can be waited for by a timer, or is off. */
const isWaitable = (ms: number): boolean => ms === Number.POSITIVE_INFINITY || ms <= MAX_DURATION_MS

/** A duration of a file in milliseconds; undefined after it was reported to be below `leastMs` or too long. */
export function readDuration(
  value: number | string,
  item: Item,
  leastMs: number,
  report: Report,
): number | undefined {
  const ms = durationMs(value)
  if (!isWaitable(ms) || ms < leastMs) {
    report.error(item, {
      message: ms < leastMs ? 'this duration is too short' : 'this duration is too long',
      mend: `Write a duration between ${leastMs} ms and ${Math.floor(MAX_DURATION_MS / 3_600_000)} h.`,
    })
    return undefined
  }
  if (typeof value === 'number' && value > 0 && value < 1000) {
    report.warning(item, {
      message: `${value} is read as milliseconds`,
      mend: `Write "${value}s" for seconds, or "${value}ms" if milliseconds are meant.`,
    })
  }
  return ms
}
