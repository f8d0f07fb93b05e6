import { type JsonBudget, type JsonText, stringOf } from '../kernel/json/text.js'
import { JsonWalk } from '../kernel/json/walk.js'
import { isId } from './jsonrpc.js'

/** The members that we read; the others of a message are dropped. */
const ENVELOPE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const
/** The members of `params` that we route or correlate by, or read while others may read the last of them. */
const ROUTED = ['_meta', 'ref', 'name', 'arguments', 'progressToken', 'uri', 'cursor', 'requestId'] as const
/** The same for those of them that are objects. */
const ROUTED_INSIDE: Readonly<Record<string, readonly string[]>> = {
  _meta: ['progressToken'],
  ref: ['type', 'name', 'uri'],
}
/** A bit for each of these names, and one for all other members. */
const OTHERS = 1
const bitOf = (n: number): number => OTHERS << (n + 1)
const ARGUMENTS = bitOf(ROUTED.indexOf('arguments'))
const NAMED = bitOf(ROUTED.indexOf('name')) | ARGUMENTS | bitOf(ROUTED.indexOf('_meta'))
/** These objects have few members; each is compared with all names. */
const ROUTED_MAX = 10_000

const isBody = (key: string | undefined): key is 'params' | 'result' | 'error' =>
  key === 'params' || key === 'result' || key === 'error'

/** The index in `keys` of the current key; -1 if none. */
function which(keys: readonly string[], at: JsonWalk): number {
  for (let n = 0; n < keys.length; n++) if (at.keyIs(keys[n] ?? '')) return n
  return -1
}

/** The top level of a message. The first of repeated members stays, and makes it no message. */
export class MessageIndex {
  isVersion2 = false
  rawId: JsonText | undefined
  hasMethod = false
  /** Undefined if there is none, or one that is no string. */
  method: string | undefined
  params: JsonText | undefined
  result: JsonText | undefined
  error: JsonText | undefined
  /** The first member that comes twice. */
  repeated: string | undefined
  /** The first member of `params` that comes twice, and that something is routed by. */
  repeatedParam: string | undefined
  /** The first object with too many members. */
  overfull: string | undefined
  /** The id if there is exactly one and it is usable. */
  readonly id: JsonText | undefined
  readonly end: number
  #hasVersion = false
  #isIdRepeated = false
  #inParams = 0
  #name: JsonText | undefined
  /** The `_meta` in `params`. */
  meta: JsonText | undefined

  /** Validates and indexes the object at `from`. Throws as `readJson` does, but does not check UTF-8. */
  constructor(bytes: Buffer, from: number, budget: JsonBudget) {
    const at = new JsonWalk(bytes, from, budget)
    while (at.next()) {
      const key = ENVELOPE[which(ENVELOPE, at)]
      if (isBody(key) && this[key] === undefined && at.isObject) {
        this.#walkRouted(at, key === 'params' ? ROUTED : ['_meta'], key)
      } else at.skip()
      if (key !== undefined && !this.#take(key, at)) this.repeated ??= key
    }
    this.end = at.end
    this.id = this.rawId !== undefined && !this.#isIdRepeated && isId(this.rawId) ? this.rawId : undefined
  }

  /** The `name` in `params`, if nothing but that, an object of `arguments` and `_meta` stands there. */
  get named(): string | undefined {
    return (this.#inParams & ~NAMED) === 0 ? stringOf(this.#name) : undefined
  }

  /** Keeps a member; false if there is one already. */
  #take(key: (typeof ENVELOPE)[number], at: JsonWalk): boolean {
    switch (key) {
      case 'jsonrpc':
        if (this.#hasVersion) return false
        this.#hasVersion = true
        this.isVersion2 = at.valueIs('"2.0"') || stringOf(at.value) === '2.0'
        return true
      case 'id':
        this.#isIdRepeated = this.rawId !== undefined
        this.rawId ??= at.value
        return !this.#isIdRepeated
      case 'method':
        if (this.hasMethod) return false
        this.hasMethod = true
        this.method = stringOf(at.value)
        return true
      case 'params':
      case 'result':
      case 'error':
        if (this[key] !== undefined) return false
        this[key] = at.value
        return true
    }
  }

  /** Passes an object and notes the first of these members that comes twice in it, or in one of them. */
  #walkRouted(outer: JsonWalk, keys: readonly string[], name: string): void {
    const at = outer.enter()
    let seen = 0
    for (let count = 0; at.next(); count++) {
      if (count >= ROUTED_MAX) {
        this.overfull ??= name
        at.skip()
        continue
      }
      const n = which(keys, at)
      const key = keys[n] ?? ''
      const bit = bitOf(n)
      const isRepeated = (seen & bit & ~OTHERS) !== 0
      const { isObject } = at
      this.#pass(at, key, isRepeated ? undefined : ROUTED_INSIDE[key])
      if (keys === ROUTED) this.#keep(key, isObject ? bit : bit & ~ARGUMENTS, at)
      if (isRepeated) this.repeatedParam ??= keys === ROUTED ? key : `${name}.${key}`
      seen |= bit
    }
    outer.leave(at)
  }

  #pass(at: JsonWalk, key: string, inside: readonly string[] | undefined): void {
    if (inside !== undefined && at.isObject) this.#walkRouted(at, inside, key)
    else at.skip()
  }

  #keep(key: string, bit: number, at: JsonWalk): void {
    this.#inParams |= bit === 0 ? OTHERS : bit
    if (key === 'name') this.#name ??= at.value
    else if (key === '_meta') this.meta ??= at.value
  }
}
