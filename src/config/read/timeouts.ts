import { DEFAULTS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import { type Item, itemAt, members } from '../file/tree.js'
import type { ServerValues } from '../schema/validate.js'
import type { Timeouts } from '../types.js'
import { durationReader } from './quantity.js'

interface TimeoutContext {
  /** Apply to keys that are absent; the defaults of the program unless given. */
  readonly usual?: Timeouts | undefined
  readonly report: Report
}

/** Reads "timeouts", of a server or of all; values out of range are reported and replaced by defaults. */
export const readTimeouts = (
  item: Item | undefined,
  given: NonNullable<ServerValues['timeouts']> = {},
  { usual = DEFAULTS.timeouts, report }: TimeoutContext,
): Timeouts => {
  const { tools = {}, ...durations } = given
  const read = durationReader(members(item), durations, report)
  const connectMs = read('connect', usual.connectMs)
  const callMs = read('call', usual.callMs)
  const totalMs = read('total', usual.totalMs)
  const readTool = durationReader(members(members(item).get('tools')), tools, report)
  const own = Object.keys(tools).map(glob => [glob, readTool(glob, callMs)] as const)
  // "off" next to a total is not a mistake: only the whole call is limited.
  const isMeant = (ms: number): boolean => ms === Number.POSITIVE_INFINITY && given.total !== undefined
  const warnLonger = (path: readonly string[], ms: number): void => {
    if (item === undefined || ms <= totalMs || isMeant(ms)) return
    report.warning(itemAt(item, path), {
      message: `longer than timeouts.total (${totalMs / 1000} s), which ends the call first`,
      fix: 'Set timeouts.total to more, or to "off".',
    })
  }
  warnLonger(['call'], callMs)
  for (const [glob, ms] of own) warnLonger(['tools', glob], ms)
  return {
    connectMs,
    // A longer time to connect is meant for `initialize` too.
    initializeMs: read('initialize', given.connect === undefined ? usual.initializeMs : connectMs),
    probeMs: read('probe', usual.probeMs),
    listMs: read('list', usual.listMs),
    callMs,
    totalMs,
    tools: [...own, ...usual.tools],
    pingMs: read('ping', usual.pingMs),
  }
}
