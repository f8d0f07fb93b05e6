import { Fault } from '../../kernel/faults.js'
import { elementsOf, type JsonText, kindOf, memberOf, stringOf, textOf } from '../../kernel/json/text.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'

/** Names a change notification in a filter. */
type Flag = (typeof LISTS)[ListName]['flag']

const FLAG_NAMES = [...new Set(LIST_NAMES.map(list => LISTS[list].flag))]

/** More are left out of what is acknowledged. */
const URIS_MAX = 1000

/** What a client wants to hear of, or what it is told that it will (2026-07-28, `SubscriptionFilter`). */
export interface SubscriptionFilter {
  readonly flags: readonly Flag[]
  /** In the client's words, each once. */
  readonly uris: readonly string[]
}

/** The filter of `subscriptions/listen`. Throws a Fault `invalid-params` if there is none, or one of another form. */
export const readFilter = (params: JsonText | undefined): SubscriptionFilter => {
  const filter = params && memberOf(params, 'notifications')
  if (filter === undefined || kindOf(filter) !== 'object') throw malformed('notifications must be an object')
  return {
    flags: FLAG_NAMES.filter(name => isSet(filter, name)),
    uris: [...urisOf(filter)],
  }
}

const isSet = (filter: JsonText, name: Flag): boolean => {
  const flag = memberOf(filter, name)
  if (flag === undefined) return false
  if (kindOf(flag) !== 'boolean') throw malformed(`notifications.${name} must be a boolean`)
  return flag.toString('latin1') === 'true'
}

const urisOf = (filter: JsonText): ReadonlySet<string> => {
  const uris = new Set<string>()
  const list = memberOf(filter, 'resourceSubscriptions')
  if (list === undefined) return uris
  if (kindOf(list) !== 'array') throw malformed('notifications.resourceSubscriptions must be a list')
  for (const element of elementsOf(list)) {
    const uri = stringOf(element)
    if (uri === undefined) throw malformed('notifications.resourceSubscriptions must hold text')
    if (uris.size < URIS_MAX) uris.add(uri)
  }
  return uris
}

const malformed = (words: string): Fault => new Fault('invalid-params', `subscriptions/listen: ${words}`)

/** The lists whose changes a filter lets through. */
export const listsOf = ({ flags }: SubscriptionFilter): ReadonlySet<ListName> =>
  new Set(LIST_NAMES.filter(list => flags.includes(LISTS[list].flag)))

/** The flags of a filter that stand for a list which passes a test. */
export const flagsFor = ({ flags }: SubscriptionFilter, test: (list: ListName) => boolean): readonly Flag[] =>
  flags.filter(flag => LIST_NAMES.some(list => LISTS[list].flag === flag && test(list)))

/** Params of the acknowledgement: what was asked for and will be heard, and nothing else. */
export const acknowledgement = ({ flags, uris }: SubscriptionFilter): JsonText =>
  textOf({
    notifications: {
      ...Object.fromEntries(flags.map(flag => [flag, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
    },
  })
