import { JsonCursor } from '../../kernel/json/cursor.js'
import { OPEN_ARRAY, OPEN_OBJECT } from '../../kernel/json/scan.js'
import { type JsonText, kindOf, memberOf } from '../../kernel/json/text.js'
import type { PointerValues } from '../../kernel/rule-tests.js'

/** Maximum number of values that one `*` covers. */
const COVERED_MAX = 1000
const INDEX = /^(?:0|[1-9]\d{0,9})$/

/** A JSON Pointer (RFC 6901) whose step `*` stands for every element or member. */
export interface Pointer {
  readonly text: string
  readonly steps: readonly string[]
}

const ABSENT: PointerValues = { values: [], isAbsent: true, isDoubtful: false }

/** The arguments of one call, read as text along pointers; each pointer once. */
export class CallArguments {
  readonly #params: JsonText | undefined
  #found: Map<string, PointerValues> | undefined
  #args: JsonText | undefined

  constructor(params: JsonText | undefined) {
    this.#params = params
  }

  at(pointer: Pointer): PointerValues {
    this.#found ??= new Map()
    let found = this.#found.get(pointer.text)
    if (found === undefined) {
      this.#args ??= this.#params && memberOf(this.#params, 'arguments')
      const isObject = this.#args !== undefined && kindOf(this.#args) === 'object'
      found = isObject && this.#args !== undefined ? new Search(pointer.steps, this.#args) : ABSENT
      this.#found.set(pointer.text, found)
    }
    return found
  }
}

class Search implements PointerValues {
  readonly values: JsonText[] = []
  isAbsent = false
  isDoubtful = false
  readonly #steps: readonly string[]
  /** The number of values that each step has covered. */
  readonly #covered: number[]

  constructor(steps: readonly string[], args: JsonText) {
    this.#steps = steps
    this.#covered = steps.map(() => 0)
    this.#visit(args, 0)
  }

  #visit(value: JsonText, depth: number): void {
    const step = this.#steps[depth]
    if (step === undefined) {
      this.values.push(value)
      return
    }
    const kind = kindOf(value)
    if (kind !== 'object' && kind !== 'array') {
      if (step === '*') this.isDoubtful = true
      else this.isAbsent = true
    } else if (step === '*') this.#all(value, depth)
    else if (kind === 'object') this.#member(value, step, depth)
    else this.#element(value, step, depth)
  }

  #all(container: JsonText, depth: number): void {
    const isObject = kindOf(container) === 'object'
    const at = new JsonCursor(container, isObject ? OPEN_OBJECT : OPEN_ARRAY)
    const keys = new Set<string>()
    while (at.next()) {
      const covered = (this.#covered[depth] ?? 0) + 1
      this.#covered[depth] = covered
      if (covered > COVERED_MAX) {
        this.isDoubtful = true
        return
      }
      if (isObject) {
        if (keys.has(at.key)) this.isDoubtful = true
        keys.add(at.key)
      }
      this.#visit(at.value, depth + 1)
    }
  }

  #member(object: JsonText, key: string, depth: number): void {
    const at = new JsonCursor(object, OPEN_OBJECT)
    let found: JsonText | undefined
    while (at.next()) {
      if (!at.keyIs(key)) continue
      if (found !== undefined) {
        this.isDoubtful = true
        return
      }
      found = at.value
    }
    if (found === undefined) this.isAbsent = true
    else this.#visit(found, depth + 1)
  }

  #element(array: JsonText, step: string, depth: number): void {
    const at = new JsonCursor(array, OPEN_ARRAY)
    let left = INDEX.test(step) ? Number(step) : Number.POSITIVE_INFINITY
    while (left > 0 && left < Number.POSITIVE_INFINITY && at.next()) left -= 1
    if (left === 0 && at.next()) this.#visit(at.value, depth + 1)
    else this.isAbsent = true
  }
}
