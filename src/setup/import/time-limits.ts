import { durationMs } from '../../config/schema/duration.js'
import { isObject } from '../../kernel/object.js'
import type { Json } from '../edit/change.js'
import type { ContainerMembers } from '../edit/containers.js'

/** Time limits in our format, with notes for the user. */
interface TimeLimits {
  readonly timeouts: Readonly<Record<string, Json>> | undefined
  readonly notes: readonly string[]
}

/** Calls longer than this also need a longer total time limit. */
const LONGEST_CALL_MS = 600_000
/** Highest number that means seconds if the unit is unclear, as in the clients with seconds. */
const MOST_SECONDS = 3600

interface Limit {
  readonly key: string
  readonly unit: 's' | 'ms' | 'unclear'
}

const limits = (unit: Limit['unit'], keys: string): readonly Limit[] =>
  keys.split(' ').map(key => ({ key, unit }))

const CONNECT = [
  ...limits('s', 'startup_timeout_sec'),
  ...limits('ms', 'startup_timeout_ms initTimeout connectionTimeout'),
]
const CALL = [...limits('ms', 'requestTimeout request_timeout_ms'), ...limits('s', 'tool_timeout_sec')]

/** Reads the time limits of a client's entry. `unit` is the unit of `timeout`. */
export const timeLimitsIn = (source: ContainerMembers, unit: Limit['unit']): TimeLimits => {
  const { timeouts: ours } = source
  if (isObject(ours)) return { timeouts: ours as Readonly<Record<string, Json>>, notes: [] }
  const notes: string[] = []
  const [call, connect] = [[...limits(unit, 'timeout'), ...CALL], CONNECT].map(known => {
    const found = known.find(({ key }) => source[key] !== undefined && source[key] !== null)
    return found === undefined ? undefined : readLimit(source[found.key], found, notes)
  })
  const timeouts = {
    ...(connect === undefined ? {} : { connect: duration(connect) }),
    ...(call === undefined ? {} : { call: duration(call) }),
    ...(call !== undefined && call > LONGEST_CALL_MS ? { total: duration(call) } : {}),
  }
  return { timeouts: Object.keys(timeouts).length === 0 ? undefined : timeouts, notes }
}

/** A duration that has its unit, as Go and other languages write it: `30s`, `1m30s`, `500 ms`. */
const DURATION = /^\s*(?:\d+(?:\.\d+)?\s*(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\s*)+$/i
const PART = /(\d+(?:\.\d+)?)\s*(ms|[smh])/gi

const sumMs = (text: string): number =>
  [...text.matchAll(PART)].reduce(
    (sum, [, number = '', unit = '']) => sum + durationMs(number + unit.toLowerCase()),
    0,
  )

const readLimit = (value: unknown, { key, unit: ofKey }: Limit, notes: string[]): number | undefined => {
  const hasUnit = typeof value === 'string' && value.length < 100 && DURATION.test(value)
  const [written, unit] = hasUnit ? [sumMs(value), 'ms'] : [value, ofKey]
  return readNumber(written, { key, unit }, notes)
}

const readNumber = (
  value: unknown,
  { key, unit }: { readonly key: string; readonly unit: string },
  notes: string[],
): number | undefined => {
  const isNumeric = typeof value === 'string' && /^\s*\d+(?:\.\d+)?\s*$/.test(value)
  const number = typeof value === 'number' || isNumeric ? Number(value) : Number.NaN
  const isSeconds = unit === 's' || (unit === 'unclear' && number <= MOST_SECONDS)
  const ms = isSeconds ? number * 1000 : number
  // Clients treat smaller values as mistakes, and so do we.
  if (!(ms >= 1000) || !Number.isFinite(ms)) {
    notes.push(`left out: ${key}`)
    return undefined
  }
  if (unit === 'unclear' && isSeconds)
    notes.push(`${key} ${number} is read as seconds, because its unit is unknown`)
  return Math.round(ms)
}

const duration = (ms: number): string => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)
