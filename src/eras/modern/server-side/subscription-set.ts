import { Fault } from '../../../kernel/faults.js'
import {
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  rawText,
  stringOf,
  textOf,
} from '../../../kernel/json/text.js'
import { failed, resulted, type Settle } from '../../../model/outcome.js'
import type { ServerCapabilities } from '../../../model/peer.js'

/** A kind of list whose changes a server can tell (schema, `SubscriptionFilter`). */
export interface ListKind {
  readonly capability: 'tools' | 'prompts' | 'resources'
  readonly flag: string
  readonly notice: string
  /** How lists of this kind are read. */
  readonly methods: readonly string[]
}

const LIST_KINDS: readonly ListKind[] = [
  {
    capability: 'tools',
    flag: 'toolsListChanged',
    notice: 'notifications/tools/list_changed',
    methods: ['tools/list'],
  },
  {
    capability: 'prompts',
    flag: 'promptsListChanged',
    notice: 'notifications/prompts/list_changed',
    methods: ['prompts/list'],
  },
  {
    capability: 'resources',
    flag: 'resourcesListChanged',
    notice: 'notifications/resources/list_changed',
    methods: ['resources/list', 'resources/templates/list'],
  },
]

const EMPTY = rawText('{}')
const TRUE = rawText('true')

/** The lists of which a server says that it tells their changes. */
export const kindsOf = (capabilities: ServerCapabilities): readonly ListKind[] =>
  LIST_KINDS.filter(({ capability }) => capabilities[capability]?.listChanged === true)

/** Params of `subscriptions/listen`, without the envelope. */
export const listenParams = (kinds: readonly ListKind[], uris: ReadonlySet<string>): JsonText => {
  const members: (readonly [string, JsonText])[] = kinds.map(({ flag }) => [flag, TRUE])
  if (uris.size > 0) members.push(['resourceSubscriptions', textOf([...uris])])
  return objectText([['notifications', objectText(members)]])
}

/** What a server promised to tell. */
export interface Promised {
  readonly kinds: readonly ListKind[]
  readonly uris: ReadonlySet<string | undefined>
}

/** What an acknowledgement promises of `kinds`, and of URIs. */
export const promisedIn = (acknowledgement: JsonText | undefined, kinds: readonly ListKind[]): Promised => {
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

/** URIs of one server that are listened to. */
const URIS_MAX = 10_000

/** A URI that somebody wants to hear of. */
interface Wish {
  /** Those who wait to hear whether the server will tell. */
  readonly waiting: Set<Settle>
  /** Whether the server has promised to, on the stream that was acknowledged last. */
  isPromised: boolean
}

/** Why a server does not tell of a resource. */
export const notAccepted = (): Fault => new Fault('invalid-params', 'Subscription not accepted')

/** The resources of one server that clients want to hear of, and who still waits to be told whether they will. */
export class SubscriptionSet {
  readonly #wishes = new Map<string, Wish>()

  get uris(): ReadonlySet<string> {
    return new Set(this.#wishes.keys())
  }

  /** Those that the server has promised to tell of. */
  get promised(): readonly string[] {
    return [...this.#wishes].flatMap(([uri, { isPromised }]) => (isPromised ? [uri] : []))
  }

  /** Adds one; false if there are too many, which `settle` was told. */
  add(uri: string, settle: Settle): boolean {
    const wish = this.#wishes.get(uri) ?? { waiting: new Set(), isPromised: false }
    if (!this.#wishes.has(uri) && this.#wishes.size >= URIS_MAX) {
      const words = `More than ${URIS_MAX} resources are subscribed at the server`
      settle(failed(new Fault('overloaded', words)))
      return false
    }
    wish.waiting.add(settle)
    this.#wishes.set(uri, wish)
    return true
  }

  isPromised(uri: string): boolean {
    return this.#wishes.get(uri)?.isPromised === true
  }

  /** Whoever waited does not any more; a wish that nobody waits for, and that was not promised, goes. */
  forget(uri: string, settle: Settle): void {
    const wish = this.#wishes.get(uri)
    if (wish?.waiting.delete(settle) === true && wish.waiting.size === 0 && !wish.isPromised) {
      this.#wishes.delete(uri)
    }
  }

  /** Takes one back; false if it was not there. */
  remove(uri: string): boolean {
    const wish = this.#wishes.get(uri)
    this.#wishes.delete(uri)
    for (const settle of wish?.waiting ?? []) settle(failed(notAccepted()))
    return wish !== undefined
  }

  /** The server has answered about `asked`. What it does not promise is given up, unless it had promised it before. */
  promise(asked: ReadonlySet<string>, promised: ReadonlySet<string | undefined>): void {
    this.#settle(asked, (wish, uri) => {
      const had = wish.isPromised
      wish.isPromised = promised.has(uri)
      const outcome = wish.isPromised ? resulted(EMPTY) : failed(notAccepted())
      return { outcome, isGivenUp: !had && !wish.isPromised }
    })
  }

  /** Nothing came of asking about `asked`; what was promised before stays wanted. */
  refuse(asked: ReadonlySet<string>, why: Fault): void {
    this.#settle(asked, wish => ({ outcome: failed(why), isGivenUp: !wish.isPromised }))
  }

  /** Tells all who wait, and forgets everything. */
  close(why: Fault): void {
    const wishes = [...this.#wishes.values()]
    this.#wishes.clear()
    for (const { waiting } of wishes) for (const settle of waiting) settle(failed(why))
  }

  #settle(
    asked: ReadonlySet<string>,
    answer: (wish: Wish, uri: string) => { outcome: Parameters<Settle>[0]; isGivenUp: boolean },
  ): void {
    for (const uri of asked) {
      const wish = this.#wishes.get(uri)
      if (wish === undefined) continue
      const waiting = [...wish.waiting]
      wish.waiting.clear()
      const { outcome, isGivenUp } = answer(wish, uri)
      if (isGivenUp) this.#wishes.delete(uri)
      for (const settle of waiting) settle(outcome)
    }
  }
}
