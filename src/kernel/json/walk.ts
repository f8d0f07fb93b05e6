import { cut, isWritten, type JsonText, keyIs, trust } from './cursor.js'
import {
  CLOSE_OBJECT,
  COLON,
  COMMA,
  checkDepth,
  type JsonBudget,
  OPEN_OBJECT,
  QUOTE,
  refuseJson,
  refuseMember,
  scanString,
  scanValue,
  skipSpace,
} from './scan.js'

/**
 * Iterates over the members of an object and validates it in the same pass, where `readJson` and a
 * `JsonCursor` take two. Throws like `readJson`, but does not check UTF-8.
 */
export class JsonWalk {
  readonly #bytes: Buffer
  readonly #depth: number
  readonly #budget: JsonBudget
  #isFirst = true
  /** The first byte of the current key, and the index after its closing quote. */
  #start = 0
  #keyEnd = 0
  #valueStart = 0
  #end: number

  /** Begins at the opening bracket of an object, inside `depth` containers. */
  constructor(bytes: Buffer, from: number, budget: JsonBudget, depth = 0) {
    checkDepth(depth, budget, from)
    this.#bytes = bytes
    this.#depth = depth + 1
    this.#budget = budget
    this.#end = from + 1
  }

  /** Steps to the next member; the previous value must have been passed by `skip` or `leave`. */
  next(): boolean {
    const bytes = this.#bytes
    let i = skipSpace(bytes, this.#end)
    if (bytes[i] === CLOSE_OBJECT) {
      this.#end = i + 1
      return false
    }
    if (!this.#isFirst) {
      if (bytes[i] !== COMMA) refuseJson(bytes, i, 'a comma or }')
      i = skipSpace(bytes, i + 1)
    }
    this.#isFirst = false
    if (this.#budget.membersLeft-- === 0) refuseMember(this.#budget, i)
    if (bytes[i] !== QUOTE) refuseJson(bytes, i, 'a member name in quotes')
    this.#start = i
    this.#keyEnd = scanString(bytes, i)
    i = skipSpace(bytes, this.#keyEnd)
    if (bytes[i] !== COLON) refuseJson(bytes, i, 'a colon')
    this.#valueStart = skipSpace(bytes, i + 1)
    return true
  }

  /** The index after the last value that was passed, or after the object at its end. */
  get end(): number {
    return this.#end
  }

  keyIs(key: string): boolean {
    return keyIs(this.#bytes, this.#start, this.#keyEnd, key)
  }

  get isObject(): boolean {
    return this.#bytes[this.#valueStart] === OPEN_OBJECT
  }

  skip(): void {
    this.#end = scanValue(this.#bytes, this.#valueStart, this.#budget, this.#depth)
  }

  /** Walks over the value, which must be an object; pass the walk to `leave` at its end. */
  enter(): JsonWalk {
    return new JsonWalk(this.#bytes, this.#valueStart, this.#budget, this.#depth)
  }

  leave(inner: JsonWalk): void {
    this.#end = inner.#end
  }

  get value(): JsonText {
    return cut(trust(this.#bytes), this.#valueStart, this.#end)
  }

  valueIs(text: string): boolean {
    return isWritten(this.#bytes, this.#valueStart, this.#end, text)
  }
}
