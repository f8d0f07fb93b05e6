import type { CauseCode } from '../../diagnostics/causes.js'
import { type Cause, cause, explain } from '../../diagnostics/explain.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { ListName } from '../../model/listing.js'
import type { Router } from '../../mux/router.js'
import type { Connection } from '../../peers/connection.js'
import type { Server } from '../../peers/server.js'

/** A warning about a server. */
export interface ServerRemark {
  readonly kind: 'noise' | 'slow' | 'flapping' | 'hangs' | 'limit' | 'list' | 'lock'
  /** The list, for a remark about an unreadable list. */
  readonly list?: ListName
  readonly message: string
  readonly agoMs: number
  readonly cause: Cause<RemarkCode>
}

type RemarkCode = Extract<CauseCode, `remark.${string}` | 'list-not-read'>

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
  { name, options }: Server,
  best: Connection | undefined,
  context: RemarksContext,
): readonly ServerRemark[] => {
  const { bounds, nowMs } = context
  const seen = bounds
    .remarksOn(name)
    .filter(({ kind, lastMs }) => kind !== 'restarted' && nowMs - lastMs <= RECENT_MS)
  const remarks = seen.flatMap(({ kind, count, lastMs, times }): ServerRemark[] => {
    const agoMs = Math.round(nowMs - lastMs)
    if (kind === 'noise') {
      const facts = { server: name, lines: counted(count, 'line'), are: count === 1 ? 'is' : 'are' }
      return [remark(kind, cause('remark.noise', facts, name), agoMs)]
    }
    if (kind === 'malformed') {
      const facts = { server: name, messages: counted(count, 'message'), are: count === 1 ? 'is' : 'are' }
      return [remark('noise', cause('remark.malformed', facts, name), agoMs)]
    }
    if (kind !== 'lost') {
      const facts = { server: name, limit: kind, times: counted(count, 'time') }
      return [remark('limit', cause('remark.limit', facts, name), agoMs)]
    }
    const recent = times.filter(atMs => nowMs - atMs <= RECENT_MS).length
    if (recent < LOSSES) return []
    const isDown = best?.state.at === 'failed' || best?.state.at === 'backoff'
    const code = isDown ? 'remark.lost' : 'remark.flapping'
    return [remark('flapping', cause(code, { server: name, count }, name), agoMs)]
  })
  const sinceMs = best?.state.at === 'starting' ? nowMs - best.sinceMs : 0
  if (sinceMs >= START_MS)
    remarks.push(remark('hangs', cause('remark.hangs', { server: name, seconds: seconds(sinceMs) }, name)))
  const { lock } = context.router.catalog.viewOf(options).exposure
  const differences = counted(lock?.count ?? 0, 'difference')
  const locked = (lock?.count ?? 0) === 0 ? [] : [remark('lock', cause('remark.lock', { differences }, name))]
  return [...remarks, ...locked, ...remarksOnCalls(name, context)]
}

const remark = (kind: ServerRemark['kind'], found: Cause<RemarkCode>, agoMs = 0): ServerRemark => ({
  kind,
  message: explain(found).message,
  agoMs,
  cause: found,
})

/** Reports slow calls of the last ten minutes, and those in flight. */
const remarksOnCalls = (name: string, { router, nowMs, slowMs }: RemarksContext): readonly ServerRemark[] => {
  if (slowMs === Number.POSITIVE_INFINITY) return []
  const slow = (code: 'remark.slow' | 'remark.slow-now', ms: number) => [
    remark('slow', cause(code, { server: name, seconds: seconds(ms) }, name)),
  ]
  const soFarMs = longestUnderWayMs(name, router, nowMs)
  if (soFarMs > slowMs) return slow('remark.slow-now', soFarMs)
  const longestMs = longestCallMs(name, router, nowMs)
  return longestMs > slowMs ? slow('remark.slow', longestMs) : []
}

const LIST_WORDS: Readonly<Record<ListName, string>> = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  templates: 'resource templates',
  skills: 'skills',
}

/** Returns a remark with the reason why a list of a server cannot be read. */
export const remarkOnList = (
  { name }: Server,
  { list, why, sinceMs }: ReturnType<Router['catalog']['summary']>['unread'][number],
  nowMs: number,
): ServerRemark => {
  const facts = { server: name, list: LIST_WORDS[list], reason: why.message }
  return { ...remark('list', cause('list-not-read', facts, name), Math.round(nowMs - sinceMs)), list }
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const seconds = (ms: number): number => Math.round(ms / 1000)

/** Returns the duration of the longest call in the last ten minutes. */
const longestCallMs = (name: string, { meter }: Router, nowMs: number): number =>
  Math.max(0, ...(meter?.history.slotsOf(name)?.read(nowMs) ?? []).map(slot => slot.longestMs))

const longestUnderWayMs = (name: string, { meter }: Router, nowMs: number): number => {
  let longestMs = 0
  for (const { servedBy, sentMs } of meter?.history.inFlight ?? [])
    if (servedBy === name && sentMs !== undefined) longestMs = Math.max(longestMs, nowMs - sentMs)
  return longestMs
}
