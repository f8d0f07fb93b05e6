import { type JsonText, kindOf, stringOf } from '../kernel/json-text.js'
import type { CallSink } from '../model/links.js'

/** The requests that one conversation has under way, by the ids that it minted. */
export class Pending {
  readonly #open = new Map<number, CallSink>()
  #last = 0

  nextId(): number {
    this.#last += 1
    return this.#last
  }

  add(id: number, sink: CallSink): void {
    this.#open.set(id, sink)
  }

  get size(): number {
    return this.#open.size
  }

  has(id: number): boolean {
    return this.#open.has(id)
  }

  /** The request that an answer or a progress token names, if it is still open. */
  find(token: JsonText | undefined): CallSink | undefined {
    const id = idOf(token)
    return id === undefined ? undefined : this.#open.get(id)
  }

  /** As `find`, and closes it. */
  take(id: JsonText | undefined): CallSink | undefined {
    const number = idOf(id)
    if (number === undefined) return undefined
    const sink = this.#open.get(number)
    if (sink !== undefined) this.#open.delete(number)
    return sink
  }

  /** Closes one by its number, whether it is still open or not. */
  drop(id: number): CallSink | undefined {
    const sink = this.#open.get(id)
    this.#open.delete(id)
    return sink
  }

  /** Closes all of them and hands them over. */
  drain(): CallSink[] {
    const sinks = [...this.#open.values()]
    this.#open.clear()
    return sinks
  }
}

/**
 * An id of ours as a peer echoed it. Its decimal string counts too: clients of the TypeScript SDK v1 convert ids with
 * `Number`, so servers that answer `"7"` to `7` live unnoticed. Nothing looser: `7.0`, `"07"` and `null` are not ours.
 */
const idOf = (text: JsonText | undefined): number | undefined => {
  if (text === undefined) return undefined
  const digits = kindOf(text) === 'string' ? stringOf(text) : text.toString('latin1')
  return digits !== undefined && /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : undefined
}
