import { Fault } from '../../kernel/faults.js'
import {
  EMPTY_ARRAY,
  elementsOf,
  type JsonText,
  memberOf,
  objectText,
  ownText,
  stringOf,
  textOf,
} from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { LimitName } from '../../kernel/limits.js'
import { type CacheHints, type Contribution, mergeHints, readCacheHints } from '../../model/cache-hints.js'
import type { Downlink } from '../../model/links.js'
import { LISTS, type ListName } from '../../model/listing.js'
import { loginReasonOf } from '../../model/login.js'
import type { Answer } from '../../model/outcome.js'
import { errorCode, RPC_CODES } from '../../model/rpc-error.js'
import { type AskOptions, askServer } from '../../peers/ask-server.js'

/** The items of a list; `isWhole` is false if a page failed or a limit was reached. */
export interface ReadList {
  readonly items: readonly JsonText[]
  readonly isWhole: boolean
  readonly reason?: string
  readonly cutAt?: LimitName
  /** Cache lifetime and scope of the list; undefined in revisions without such hints. */
  readonly hints?: CacheHints | undefined
  /** True if the connection failed, so that another attempt may find more. */
  readonly isBroken?: boolean
  readonly error?: Fault
}

/** Reads all pages of a list (server/utilities/pagination). Rejects with a Fault if the first one fails. */
export const readList = async (
  link: Pick<Downlink, 'call' | 'serverRequests'>,
  list: ListName,
  pageLimit: AskOptions,
  bounds: LimitCounters,
): Promise<ReadList> => {
  const items: JsonText[] = []
  const hints: Contribution[] = []
  const seen = new Set<string>()
  let bytes = 0
  let cursor: string | undefined
  for (let page = 0; page < bounds.max.pages; page += 1) {
    const params = cursor === undefined ? undefined : objectText([['cursor', textOf(cursor)]])
    const outcome = await askServer(link, LISTS[list].method, params, pageLimit)
    if (outcome.kind !== 'result') {
      return page === 0
        ? afterNoPage(outcome, LISTS[list].method)
        : {
            ...cutShort(items, `page ${page + 1} failed: ${wordsOf(outcome)}`),
            isBroken: outcome.kind === 'fault',
          }
    }
    const listed = listedOn(outcome.result, list)
    // Not spread: a page may have more items than a call can take arguments.
    for (const item of elementsOf(listed)) {
      const end = item.byteOffset - listed.byteOffset + item.length
      if (items.length >= bounds.max.items) return cutAt('items', items, bounds)
      if (bytes + end > bounds.max.listBytes) return cutAt('listBytes', items, bounds)
      items.push(item)
    }
    bytes += listed.length
    if (link.serverRequests === 'returned') hints.push({ ...readCacheHints(outcome.result), ageMs: 0 })
    cursor = stringOf(memberOf(outcome.result, 'nextCursor'))
    if (cursor === undefined) return whole(items, hints)
    if (seen.has(cursor)) return cutShort(items, 'a cursor was repeated')
    seen.add(cursor)
    bytes += cursor.length
    if (bytes > bounds.max.listBytes) return cutAt('listBytes', items, bounds)
  }
  return cutAt('pages', items, bounds)
}

/** Throws the Fault that arrived instead of a first page. */
const afterNoPage = (outcome: Exclude<Answer, { kind: 'result' }>, method: string): ReadList => {
  if (isUnknownMethod(outcome)) return { items: [], isWhole: true }
  const reason = wordsOf(outcome)
  const words = `${method} failed: ${reason}`
  if (outcome.kind === 'fault') {
    const { fault } = outcome
    // A login error keeps its own message, which sends the user to the login.
    throw loginReasonOf(fault) === undefined ? new Fault(fault.code, words) : fault
  }
  return { ...cutShort([], reason), error: new Fault('unavailable', words) }
}

const cutShort = (items: readonly JsonText[], reason: string): ReadList => ({ items, isWhole: false, reason })

const cutAt = (
  limit: 'items' | 'pages' | 'listBytes',
  items: readonly JsonText[],
  { max }: LimitCounters,
): ReadList => {
  const what = { items: 'items', pages: 'pages', listBytes: 'bytes' }[limit]
  return { ...cutShort(items, `more than ${max[limit]} ${what} (limits.${limit})`), cutAt: limit }
}

const whole = (items: readonly JsonText[], hints: readonly Contribution[]): ReadList => {
  const read = { items, isWhole: true }
  return hints.length === 0 ? read : { ...read, hints: mergeHints(hints) }
}

/** Copies the items, so that a few of them do not keep the whole message in memory. */
const listedOn = (result: JsonText, list: ListName): JsonText =>
  ownText(memberOf(result, LISTS[list].member) ?? EMPTY_ARRAY)

const wordsOf = (outcome: Exclude<Answer, { kind: 'result' }>): string =>
  outcome.kind === 'fault'
    ? outcome.fault.message
    : (stringOf(memberOf(outcome.error, 'message')) ?? 'no reason given')

/** Some servers declare a capability but lack one of its lists, most often the templates. */
const isUnknownMethod = (outcome: Exclude<Answer, { kind: 'result' }>): boolean =>
  outcome.kind === 'error' && errorCode(outcome.error) === RPC_CODES['unknown-method']
