import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { LimitCounters, Pressure } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'

/** A measurement of memory. @internal */
export interface MemorySample {
  /** Resident memory, without the free part of the heap. */
  readonly usedBytes: number
  readonly limitBytes: number
  readonly heapUsedBytes: number
  readonly heapLimitBytes: number
}

export interface MemoryPressureOptions {
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  /** Frees caches. Called at each check while memory is short. */
  readonly relieve: () => void
  readonly sample?: (maxBytes: number) => MemorySample
  /** Receives the delay of each check, which is the lag of the event loop. */
  readonly onLate?: (ms: number) => void
}

const LOOK_MS = 500

/** The share of used memory at which each level begins. */
const LEVELS = [0.8, 0.85, 0.9, 0.95] as const

/** Hysteresis: a level ends this far below its beginning. */
const SLACK = 0.03

const WORDS: Readonly<Record<Pressure, string>> = {
  0: 'memory pressure is over',
  1: 'memory is short: new sessions are not resumable',
  2: 'memory is short: refusing new sessions and closing the longest idle ones',
  3: 'memory is short: disconnecting slow clients and dropping large incomplete messages',
  4: 'memory is very short: refusing new requests',
}

/** Computes the level from a measurement and the previous level. @internal */
export const pressureOf = (sample: MemorySample, before: Pressure): Pressure => {
  const { usedBytes, limitBytes, heapUsedBytes, heapLimitBytes } = sample
  const share = Math.max(usedBytes / limitBytes, heapUsedBytes / heapLimitBytes)
  const reached = LEVELS.filter((level, index) => share >= (index < before ? level - SLACK : level))
  return reached.length as Pressure
}

/** Measures this process against `maxBytes` and the memory of the machine or container. @internal */
export const sampleMemory = (maxBytes: number): MemorySample => {
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  // Without a limit this is 0, or larger than any machine (Node, "process.constrainedMemory").
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

/** Returns undefined if measuring fails: Linux needs a file descriptor, and none may be left. */
const tryMeasure = <T>(measure: () => T): T | undefined => {
  try {
    return measure()
  } catch {
    return undefined
  }
}

/** Returns the resident memory of this process. Undefined if it cannot be measured now. */
export const residentBytes = (): number | undefined => tryMeasure(() => process.memoryUsage.rss())

/**
 * Measures memory until cancelled, and reports pressure to refuse work before the system kills the process.
 */
export const watchMemory = (options: MemoryPressureOptions): Timer => {
  const { bounds, clock, log, relieve, sample = sampleMemory, onLate } = options
  let checkedMs = clock.nowMs()
  const look = (): MemorySample | undefined => {
    const seen = tryMeasure(() => sample(bounds.max.memory))
    if (seen !== undefined) bounds.memoryBytes = seen.limitBytes
    return seen
  }
  look()
  return clock.every(LOOK_MS, () => {
    const nowMs = clock.nowMs()
    onLate?.(Math.max(0, nowMs - checkedMs - LOOK_MS))
    checkedMs = nowMs
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
}
