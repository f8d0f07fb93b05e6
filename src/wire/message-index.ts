import { type JsonBudget, type JsonText, stringOf } from '../kernel/json/text.js'
import { JsonWalk } from '../kernel/json/walk.js'
import { isId } from './jsonrpc.js'

/** The members of a message in use; all others are dropped. */
const ENVELOPE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const
/**
 * The members of `params` used for routing or correlation, or read by both sides, which might pick different
 * ones.
 */
const ROUTED = ['_meta', 'ref', 'name', 'arguments', 'progressToken', 'uri', 'cursor', 'requestId'] as const
/** The same for members that are objects. */
const ROUTED_INSIDE: Readonly<Record<string, readonly string[]>> = {
  _meta: ['progressToken'],
  ref: ['type', 'name', 'uri'],
}
/** A bit for each of these names, and one for all others. */
const OTHERS = 1
const bitOf = (n: number): number => OTHERS << (n + 1)
const ARGUMENTS = bitOf(ROUTED.indexOf('arguments'))
const NAMED = bitOf(ROUTED.indexOf('name')) | ARGUMENTS | bitOf(ROUTED.indexOf('_meta'))
/** Bounds the members of these objects; each is compared with all names. */
const ROUTED_MAX = 10_000

const isBody = (key: string | undefined): key is 'params' | 'result' | 'error' =>
  key === 'params' || key === 'result' || key === 'error'

/** Returns the index of the current key in `keys`; -1 if none. */
function which(keys: readonly string[], at: JsonWalk): number {
  for (let n = 0; n < keys.length; n++) if (at.keyIs(keys[n] ?? '')) return n
  return -1
}

/** The top level of a message. The first of repeated members is kept, but makes it malformed. */
export class MessageIndex {
  isVersion2 = false
  rawId: JsonText | undefined
  hasMethod = false
  /** Undefined if there is none, or it is not a string. */
  method: string | undefined
  params: JsonText | undefined
  result: JsonText | undefined
  error: JsonText | undefined
  /** The first repeated member. */
  repeated: string | undefined
  /** The first repeated member of `params` that affects routing. */
  repeatedParam: string | undefined
  /** The first object with too many members. */
  overfull: string | undefined
  /** The id, if there is exactly one and it is valid. */
  readonly id: JsonText | undefined
  readonly end: number
  #hasVersion = false
  #isIdRepeated = false
  #inParams = 0
  #name: JsonText | undefined
  meta: JsonText | undefined

  /** Validates and indexes the object at `from`. Throws like `readJson`, but does not check UTF-8. */
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

  /** The `name` in `params`, if they hold only that, an object of `arguments`, and `_meta`. */
  get named(): string | undefined {
    return (this.#inParams & ~NAMED) === 0 ? stringOf(this.#name) : undefined
  }

  /** Keeps a member; returns false if it is repeated. */
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

  /** Walks over an object and records the first of these members repeated in it, or inside one of them. */
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
