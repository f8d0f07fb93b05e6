import type { LimitCounters } from '../kernel/limit-counters.js'
import type { ListName } from '../model/listing.js'
import type { Router } from '../mux/router.js'
import type { Connection } from '../peers/connection.js'
import type { Server } from '../peers/server.js'

/** Something odd about a server. */
export interface ServerRemark {
  readonly kind: 'noise' | 'slow' | 'flapping' | 'hangs' | 'limit' | 'list'
  /** The list that cannot be read, of a remark on that. */
  readonly list?: ListName
  readonly message: string
  readonly agoMs: number
}

/** For how long a remark is made. */
const RECENT_MS = 10 * 60_000
/** A start that takes longer is worth a remark. */
const START_MS = 1000
/** As many losses within the time that remarks are made. */
const LOSSES = 3

interface RemarksContext {
  readonly bounds: LimitCounters
  readonly router: Router
  readonly nowMs: number
  /** From how long on a call counts as slow. */
  readonly slowMs: number
}

/** What an operator should know of a server that is served. */
export const remarksOn = (
  { name }: Server,
  best: Connection | undefined,
  context: RemarksContext,
): readonly ServerRemark[] => {
  const { bounds, nowMs } = context
  const seen = bounds.remarksOn(name).filter(({ lastMs }) => nowMs - lastMs <= RECENT_MS)
  const remarks = seen.flatMap(({ kind, count, lastMs, times }): ServerRemark[] => {
    const agoMs = Math.round(nowMs - lastMs)
    if (kind === 'noise')
      return [
        {
          kind,
          agoMs,
          message: `wrote ${counted(count, 'line')} to stdout that ${count === 1 ? 'is no message' : 'are no messages'} (D034)`,
        },
      ]
    if (kind !== 'lost')
      return [{ kind: 'limit', agoMs, message: `reached limits.${kind} ${counted(count, 'time')} (D080)` }]
    const recent = times.filter(atMs => nowMs - atMs <= RECENT_MS).length
    if (recent < LOSSES) return []
    return [{ kind: 'flapping', agoMs, message: `was lost ${count} times, and came back` }]
  })
  const sinceMs = best?.state.at === 'starting' ? nowMs - best.sinceMs : 0
  if (sinceMs >= START_MS)
    remarks.push({
      kind: 'hangs',
      agoMs: 0,
      message: `has not answered for ${seconds(sinceMs)} since its start`,
    })
  return [...remarks, ...remarksOnCalls(name, context)]
}

/** A call that took as long as the log calls slow is worth a remark for a while, and so is one under way. */
const remarksOnCalls = (name: string, { router, nowMs, slowMs }: RemarksContext): readonly ServerRemark[] => {
  if (slowMs === Number.POSITIVE_INFINITY) return []
  const soFarMs = longestUnderWayMs(name, router, nowMs)
  if (soFarMs > slowMs)
    return [{ kind: 'slow', agoMs: 0, message: `has taken ${seconds(soFarMs)} for a call so far` }]
  const longestMs = longestCallMs(name, router, nowMs)
  if (longestMs <= slowMs) return []
  return [{ kind: 'slow', agoMs: 0, message: `took ${seconds(longestMs)} for a call` }]
}

const LIST_WORDS: Readonly<Record<ListName, string>> = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  templates: 'resource templates',
}

/** That a list of a server cannot be read, and why. */
export const remarkOnList = (
  { list, why, sinceMs }: ReturnType<Router['catalog']['summary']>['unread'][number],
  nowMs: number,
): ServerRemark => ({
  kind: 'list',
  list,
  agoMs: Math.round(nowMs - sinceMs),
  message: `failed to list its ${LIST_WORDS[list]}: ${why.message}`,
})

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`

/** The longest call of the last ten minutes. */
const longestCallMs = (name: string, { meter }: Router, nowMs: number): number =>
  Math.max(0, ...(meter?.history.slotsOf(name)?.read(nowMs) ?? []).map(slot => slot.longestMs))

const longestUnderWayMs = (name: string, { meter }: Router, nowMs: number): number => {
  let longestMs = 0
  for (const { servedBy, sentMs } of meter?.history.underWay ?? [])
    if (servedBy === name && sentMs !== undefined) longestMs = Math.max(longestMs, nowMs - sentMs)
  return longestMs
}
