import { LIMIT_NAMES, LIMIT_TABLE, type LimitName, type Limits, shownLimit } from '../../kernel/limits.js'
import type { Report } from '../file/problem.js'
import { type Item, members } from '../file/tree.js'
import { durationMs } from './duration.js'

type Value = number | string | undefined

const BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
}

const sizeBytes = (value: number | string): number => {
  if (typeof value === 'number') return Math.round(value)
  const parts = /^([\d.]+)\s?([A-Za-z]+)$/.exec(value)
  return Math.round(Number(parts?.[1] ?? Number.NaN) * (BYTES[parts?.[2] ?? ''] ?? Number.NaN))
}

const numberOf = (name: LimitName, value: number | string): number => {
  switch (LIMIT_TABLE[name].kind) {
    case 'count':
      return Number(value)
    case 'bytes':
      return sizeBytes(value)
    case 'time':
      return durationMs(value)
  }
}

/** The bounds that an object of a file sets; what is out of its range is reported, and left out. */
export function readLimits(
  item: Item | undefined,
  given: Readonly<Partial<Record<LimitName, Value>>> | undefined,
  { names, report }: { readonly names: readonly string[]; readonly report: Report },
): Partial<Limits> {
  const found = item === undefined ? new Map<string, Item>() : members(item)
  const read: Partial<Record<LimitName, number>> = {}
  for (const name of LIMIT_NAMES.filter(each => names.includes(each))) {
    const [place, value] = [found.get(name), given?.[name]]
    if (place === undefined || value === undefined) continue
    const { least, most } = LIMIT_TABLE[name]
    const limit = numberOf(name, value)
    if (limit >= least && limit <= most) read[name] = limit
    else {
      report.error(place, {
        message: limit < least ? 'this limit is too small' : 'this limit is too large',
        mend: `Write one from ${shownLimit(name, least)} to ${shownLimit(name, most)}.`,
      })
    }
  }
  return read
}
