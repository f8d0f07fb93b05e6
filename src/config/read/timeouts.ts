import { DEFAULTS } from '../defaults.js'
import type { Report } from '../file/problem.js'
import { itemAt, members, type TreeItem } from '../file/tree.js'
import type { ServerValues } from '../schema/validate.js'
import type { Timeouts } from '../types.js'
import { readPlain } from './plain.js'
import { durationReader } from './quantity.js'

interface TimeoutContext {
  /** Values for absent keys; the defaults if undefined. */
  readonly usual?: Timeouts | undefined
  readonly report: Report
}

/** Reads "timeouts" of one or all servers. Reports values out of range and replaces them by defaults. */
export const readTimeouts = (
  item: TreeItem | undefined,
  given: NonNullable<ServerValues['timeouts']> = {},
  { usual = DEFAULTS.timeouts, report }: TimeoutContext,
): Timeouts => {
  const { tools = {} } = given
  const read = readPlain('timeouts', { items: members(item), values: given, fallbacks: usual, report })
  const { connectMs, callMs, totalMs } = read
  const readTool = durationReader(members(members(item).get('tools')), tools, report)
  const own = Object.keys(tools).map(glob => [glob, readTool(glob, callMs)] as const)
  // No limit on silence next to a total is valid: only the whole call is limited.
  const isMeant = (ms: number): boolean =>
    ms === Number.POSITIVE_INFINITY && (given.total !== undefined || given.call === undefined)
  const warnLonger = (path: readonly string[], ms: number): void => {
    if (item === undefined || ms <= totalMs || isMeant(ms)) return
    report.warning(itemAt(item, path), {
      message: `longer than timeouts.total (${totalMs / 1000} s), which ends the call first`,
      fix: 'Set timeouts.total to more, or to "off".',
    })
  }
  warnLonger(['call'], callMs)
  for (const [glob, ms] of own) warnLonger(['tools', glob], ms)
  // A changed `connect` also applies to `initialize`.
  const initializeMs =
    given.connect !== undefined && given.initialize === undefined ? connectMs : read.initializeMs
  return { ...read, initializeMs, tools: [...own, ...usual.tools] }
}
