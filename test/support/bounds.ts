import type { Clock } from '../../src/kernel/async/clock.js'
import { LimitCounters } from '../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../../src/kernel/limits.js'

/** Bounds of which some are not the defaults. */
export const boundsOf = (limits: Partial<Limits> = {}, clock?: Clock): LimitCounters =>
  new LimitCounters({ limits: { ...DEFAULT_LIMITS, ...limits }, ...(clock && { clock }) })
