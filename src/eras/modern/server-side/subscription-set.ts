import { Fault } from '../../../kernel/faults.js'
import {
  EMPTY,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  rawText,
  stringOf,
  textOf,
} from '../../../kernel/json/text.js'
import { LISTS, listsChangedBy } from '../../../model/listing.js'
import { failed, type Settle, succeeded } from '../../../model/outcome.js'
import type { ServerCapabilities } from '../../../model/peer.js'

/** A kind of list whose changes a server can report (schema, `SubscriptionFilter`). */
export interface ListKind {
  readonly capability: 'tools' | 'prompts' | 'resources'
  readonly flag: string
  readonly notification: string
  readonly methods: readonly string[]
}

const LIST_KINDS: readonly ListKind[] = (['tools', 'prompts', 'resources'] as const).map(capability => {
  const { flag, changed } = LISTS[capability]
  const methods = (listsChangedBy(changed) ?? []).map(list => LISTS[list].method)
  return { capability, flag, notification: changed, methods }
})

const TRUE = rawText('true')

/** Returns the lists whose changes the server declares to report. */
export const changeKindsOf = (capabilities: ServerCapabilities): readonly ListKind[] =>
  LIST_KINDS.filter(({ capability }) => capabilities[capability]?.listChanged === true)

/** Makes the params of `subscriptions/listen`, without the envelope. */
export const listenParams = (kinds: readonly ListKind[], uris: ReadonlySet<string>): JsonText => {
  const members: (readonly [string, JsonText])[] = kinds.map(({ flag }) => [flag, TRUE])
  if (uris.size > 0) members.push(['resourceSubscriptions', textOf([...uris])])
  return objectText([['notifications', objectText(members)]])
}

/** The subscriptions that a server has accepted. */
export interface Accepted {
  readonly kinds: readonly ListKind[]
  readonly uris: ReadonlySet<string | undefined>
}

/** Reads from an acknowledgement which of `kinds` and which URIs were accepted. */
export const acceptedIn = (acknowledgement: JsonText | undefined, kinds: readonly ListKind[]): Accepted => {
  const filter = (acknowledgement && memberOf(acknowledgement, 'notifications')) ?? EMPTY
  return {
    kinds: kinds.filter(({ flag }) => isTrue(memberOf(filter, flag))),
    uris: new Set(stringsIn(memberOf(filter, 'resourceSubscriptions') ?? EMPTY)),
  }
}

function* stringsIn(list: JsonText): Generator<string | undefined, void> {
  for (const element of elementsOf(list)) yield stringOf(element)
}

const isTrue = (flag: JsonText | undefined): boolean =>
  flag !== undefined && kindOf(flag) === 'boolean' && flag.toString('latin1') === 'true'

const URIS_MAX = 10_000

/** A resource that a client has subscribed to. */
interface Subscription {
  /** Callers that wait for the server's acknowledgement. */
  readonly waiting: Set<Settle>
  /** True if the server accepted it on the stream acknowledged last. */
  isAccepted: boolean
}

/** Makes the Fault of a subscription that the server did not accept. */
export const notAccepted = (): Fault => new Fault('invalid-params', 'Subscription not accepted')

/** The subscribed resources of one server, and the callers awaiting acknowledgement. */
export class SubscriptionSet {
  readonly #subscriptions = new Map<string, Subscription>()

  get uris(): ReadonlySet<string> {
    return new Set(this.#subscriptions.keys())
  }

  /** URIs that the server has accepted. */
  get accepted(): readonly string[] {
    return [...this.#subscriptions].flatMap(([uri, { isAccepted }]) => (isAccepted ? [uri] : []))
  }

  /** Adds a subscription; settles with a fault and returns false if there are too many. */
  add(uri: string, settle: Settle): boolean {
    const subscription = this.#subscriptions.get(uri) ?? { waiting: new Set(), isAccepted: false }
    if (!this.#subscriptions.has(uri) && this.#subscriptions.size >= URIS_MAX) {
      const reason = `More than ${URIS_MAX} resources are subscribed at the server`
      settle(failed(new Fault('overloaded', reason)))
      return false
    }
    subscription.waiting.add(settle)
    this.#subscriptions.set(uri, subscription)
    return true
  }

  isPromised(uri: string): boolean {
    return this.#subscriptions.get(uri)?.isAccepted === true
  }

  /** Forgets a caller, and with it a subscription without callers that was never accepted. */
  forget(uri: string, settle: Settle): void {
    const subscription = this.#subscriptions.get(uri)
    if (
      subscription?.waiting.delete(settle) === true &&
      subscription.waiting.size === 0 &&
      !subscription.isAccepted
    ) {
      this.#subscriptions.delete(uri)
    }
  }

  /** Removes a subscription; returns false if there was none. */
  remove(uri: string): boolean {
    const subscription = this.#subscriptions.get(uri)
    this.#subscriptions.delete(uri)
    for (const settle of subscription?.waiting ?? []) settle(failed(notAccepted()))
    return subscription !== undefined
  }

  /**
   * Applies the server's answer about `asked`: subscriptions not accepted are dropped, unless they were
   * before.
   */
  acknowledge(asked: ReadonlySet<string>, promised: ReadonlySet<string | undefined>): void {
    this.#settle(asked, (subscription, uri) => {
      const had = subscription.isAccepted
      subscription.isAccepted = promised.has(uri)
      const outcome = subscription.isAccepted ? succeeded(EMPTY) : failed(notAccepted())
      return { outcome, isGivenUp: !had && !subscription.isAccepted }
    })
  }

  /** The request for `asked` failed; subscriptions accepted before are kept. */
  refuse(asked: ReadonlySet<string>, why: Fault): void {
    this.#settle(asked, subscription => ({ outcome: failed(why), isGivenUp: !subscription.isAccepted }))
  }

  /** Settles all callers and removes everything. */
  close(why: Fault): void {
    const subscriptions = [...this.#subscriptions.values()]
    this.#subscriptions.clear()
    for (const { waiting } of subscriptions) for (const settle of waiting) settle(failed(why))
  }

  #settle(
    asked: ReadonlySet<string>,
    answer: (
      subscription: Subscription,
      uri: string,
    ) => { outcome: Parameters<Settle>[0]; isGivenUp: boolean },
  ): void {
    for (const uri of asked) {
      const subscription = this.#subscriptions.get(uri)
      if (subscription === undefined) continue
      const waiting = [...subscription.waiting]
      subscription.waiting.clear()
      const { outcome, isGivenUp } = answer(subscription, uri)
      if (isGivenUp) this.#subscriptions.delete(uri)
      for (const settle of waiting) settle(outcome)
    }
  }
}
