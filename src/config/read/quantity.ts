import { LIMIT_NAMES, LIMIT_TABLE, type LimitName, type Limits, shownLimit } from '../../kernel/limits.js'
import { MAX_DURATION_MS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import { members, type TreeItem } from '../file/tree.js'
import { durationMs, inUnits, type Quantity } from '../schema/duration.js'

const BYTE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
}

/** Reads durations of an object by key. Falls back if one is absent, or out of range, which is reported. */
export const durationReader =
  <K extends string>(
    items: ReadonlyMap<string, TreeItem>,
    values: Readonly<Partial<Record<K, Quantity | undefined>>>,
    report: Report,
  ) =>
  (key: K, fallbackMs: number, leastMs = 1): number => {
    const [item, value] = [items.get(key), values[key]]
    if (item === undefined || value === undefined) return fallbackMs
    const ms = durationMs(value)
    const isTooLong = ms > MAX_DURATION_MS && ms !== Number.POSITIVE_INFINITY
    if (ms < leastMs || isTooLong) {
      report.error(item, {
        message: isTooLong ? 'this duration is too long' : 'this duration is too short',
        fix: `Write a duration between ${leastMs} ms and ${Math.floor(MAX_DURATION_MS / 3_600_000)} h.`,
      })
      return fallbackMs
    }
    if (typeof value === 'number' && value > 0 && value < 1000) {
      report.warning(item, {
        message: `${value} is read as milliseconds`,
        fix: `Write "${value}s" for seconds, or "${value}ms" if milliseconds are meant.`,
      })
    }
    return ms
  }

const LIMIT_READERS = {
  count: Number,
  bytes: (size: Quantity) => inUnits(typeof size === 'string' ? size.replace(/\s/, '') : size, BYTE_UNITS),
  time: durationMs,
} as const

/** Reads the limits in an object. Reports limits out of range and leaves them out. */
export function readLimits(
  item: TreeItem | undefined,
  given: Readonly<Partial<Record<LimitName, Quantity | undefined>>> | undefined,
  { names, report }: { readonly names: readonly string[]; readonly report: Report },
): Partial<Limits> {
  const found = members(item)
  const read: Partial<Record<LimitName, number>> = {}
  for (const name of LIMIT_NAMES.filter(each => names.includes(each))) {
    const [place, value] = [found.get(name), given?.[name]]
    if (place === undefined || value === undefined) continue
    const { kind, least, most } = LIMIT_TABLE[name]
    const limit = LIMIT_READERS[kind](value)
    if (limit >= least && limit <= most) read[name] = limit
    else {
      report.error(place, {
        message: limit < least ? 'this limit is too small' : 'this limit is too large',
        fix: `Write one from ${shownLimit(name, least)} to ${shownLimit(name, most)}.`,
      })
    }
  }
  return read
}
