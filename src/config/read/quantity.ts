import { LIMIT_NAMES, LIMIT_TABLE, type LimitName, type Limits, shownLimit } from '../../kernel/limits.js'
import { MAX_DURATION_MS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import { type Item, members } from '../file/tree.js'

const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

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

/** A number, or a string with a number and a unit, that passed the schema. */
type Quantity = number | string

const inUnits = (quantity: Quantity, units: Readonly<Record<string, number>>): number => {
  if (typeof quantity === 'number') return Math.round(quantity)
  const [, number = '', unit = ''] = /^([\d.]+)([A-Za-z]+)$/.exec(quantity) ?? []
  return Math.round(Number(number) * (units[unit] ?? Number.NaN))
}

/** A duration that passed the schema, in milliseconds; `Infinity` for "off". */
export const durationMs = (duration: Quantity): number =>
  duration === 'off' ? Number.POSITIVE_INFINITY : inUnits(duration, TIME_UNITS)

/** Reads durations of an object by key, falling back if they are absent, or reported as out of range. */
export const durationReader =
  <K extends string>(
    items: ReadonlyMap<string, Item>,
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

/** Reads the limits that an object sets; those out of range are reported and left out. */
export function readLimits(
  item: Item | undefined,
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
