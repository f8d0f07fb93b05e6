import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../kernel/async/clock.js'
import type { LimitCounters, Pressure } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'

/** How much memory there is, and how much of it is in use; bytes. */
export interface MemorySample {
  /** What the process has of the machine, without what it could give back at once. */
  readonly usedBytes: number
  /** What it may have. */
  readonly limitBytes: number
  readonly heapUsedBytes: number
  readonly heapLimitBytes: number
}

/** What is done about it. */
export interface MemoryPressureOptions {
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  /** Gives back what is kept for convenience; told at each look while memory is that short. */
  readonly relieve: () => void
  readonly sample?: (maxBytes: number) => MemorySample
}

/** Watches memory until it is closed. */
export interface MemoryPressure {
  close(): void
}

const LOOK_MS = 500

/** The share of memory at which each level begins. */
const LEVELS = [0.8, 0.85, 0.9, 0.95] as const

/** A level ends so much below where it began, so that it does not come and go. */
const SLACK = 0.03

/** What the levels mean, for the log. */
const WORDS: Readonly<Record<Pressure, string>> = {
  0: 'there is enough memory again',
  1: 'memory is short: new sessions keep nothing for clients that lose their connection',
  2: 'memory is short: there are no new sessions, and those that are idle for longest end',
  3: 'memory is short: what is large and not complete is cut off, and so are clients that do not read',
  4: 'memory is very short: there are no new requests',
}

/** How short memory is, from what was measured and how short it was before. Pure. */
export const pressureOf = (sample: MemorySample, before: Pressure): Pressure => {
  const { usedBytes, limitBytes, heapUsedBytes, heapLimitBytes } = sample
  const share = Math.max(usedBytes / limitBytes, heapUsedBytes / heapLimitBytes)
  const reached = LEVELS.filter((level, index) => share >= (index < before ? level - SLACK : level))
  return reached.length as Pressure
}

/** What this process uses; of `maxBytes` it may have no more than the machine, or the container, has. */
export const sampleMemory = (maxBytes: number): MemorySample => {
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  // Without a limit this is 0, or larger than any machine (https://nodejs.org/api/process.html, "constrainedMemory").
  const constrained = process.constrainedMemory() as number | undefined
  const machineBytes = totalmem()
  const ownBytes = constrained === undefined || constrained === 0 ? machineBytes : constrained
  return {
    usedBytes: rss - (heapTotal - heapUsed),
    limitBytes: Math.min(maxBytes, ownBytes, machineBytes),
    heapUsedBytes: heapUsed,
    heapLimitBytes: getHeapStatistics().heap_size_limit,
  }
}

/** What was measured; undefined if that could not be done: Linux opens a file for it, and there may be no more file descriptors. */
const measured = <T>(measure: () => T): T | undefined => {
  try {
    return measure()
  } catch {
    return undefined
  }
}

/** The memory that this process has of the machine, in bytes; undefined if that cannot be found out at the moment. */
export const residentBytes = (): number | undefined => measured(() => process.memoryUsage.rss())

/**
 * Looks at memory now and then, and tells the bounds how short it is, so that new work is refused before the operating system
 * ends the process: first conveniences go, then sessions that nobody uses, then clients that do not read, then new requests.
 */
export const watchMemory = (options: MemoryPressureOptions): MemoryPressure => {
  const { bounds, clock, log, relieve, sample = sampleMemory } = options
  const look = (): MemorySample | undefined => {
    const seen = measured(() => sample(bounds.max.memory))
    if (seen !== undefined) bounds.memoryBytes = seen.limitBytes
    return seen
  }
  look()
  const timer = clock.every(LOOK_MS, () => {
    const before = bounds.pressure
    const seen = look()
    if (seen === undefined) return
    const now = pressureOf(seen, before)
    if (now !== before) {
      bounds.pressure = now
      if (now > before) bounds.hit('memory', { level: now })
      log[now > before ? 'warn' : 'info']({ level: now, ...seen }, WORDS[now])
    }
    if (now >= 2) relieve()
  })
  return { close: () => timer.cancel() }
}
