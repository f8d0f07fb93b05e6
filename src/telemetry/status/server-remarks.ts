import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { ListName } from '../../model/listing.js'
import type { Router } from '../../mux/router.js'
import type { Connection } from '../../peers/connection.js'
import type { Server } from '../../peers/server.js'

/** A warning about a server. */
export interface ServerRemark {
  readonly kind: 'noise' | 'slow' | 'flapping' | 'hangs' | 'limit' | 'list'
  /** The list, for a remark about an unreadable list. */
  readonly list?: ListName
  readonly message: string
  readonly agoMs: number
}

/** Lifetime of a remark. */
const RECENT_MS = 10 * 60_000
/** Start time that is worth a remark. */
const START_MS = 1000
/** Losses within `RECENT_MS` that are worth a remark. */
const LOSSES = 3

interface RemarksContext {
  readonly bounds: LimitCounters
  readonly router: Router
  readonly nowMs: number
  /** Duration of a slow call. */
  readonly slowMs: number
}

/** Returns remarks about an active server for its operator. */
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
          message: `wrote ${counted(count, 'line')} to stdout that ${count === 1 ? 'is' : 'are'} not JSON-RPC (D034)`,
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

/** Reports slow calls of the last ten minutes, and those in flight. */
const remarksOnCalls = (name: string, { router, nowMs, slowMs }: RemarksContext): readonly ServerRemark[] => {
  if (slowMs === Number.POSITIVE_INFINITY) return []
  const soFarMs = longestUnderWayMs(name, router, nowMs)
  if (soFarMs > slowMs)
    return [{ kind: 'slow', agoMs: 0, message: `has taken ${seconds(soFarMs)} for a call in progress` }]
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

/** Returns a remark with the reason why a list of a server cannot be read. */
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

/** Returns the duration of the longest call in the last ten minutes. */
const longestCallMs = (name: string, { meter }: Router, nowMs: number): number =>
  Math.max(0, ...(meter?.history.slotsOf(name)?.read(nowMs) ?? []).map(slot => slot.longestMs))

const longestUnderWayMs = (name: string, { meter }: Router, nowMs: number): number => {
  let longestMs = 0
  for (const { servedBy, sentMs } of meter?.history.inFlight ?? [])
    if (servedBy === name && sentMs !== undefined) longestMs = Math.max(longestMs, nowMs - sentMs)
  return longestMs
}
