import { Fault } from '../../../kernel/faults.js'
import { rawText } from '../../../kernel/json/text.js'
import { failed, resulted, type Settle } from '../../../model/outcome.js'

/** URIs of one server that are listened to. */
const URIS_MAX = 10_000
const EMPTY = rawText('{}')

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
