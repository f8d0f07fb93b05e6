import { HashTable } from '../../kernel/hash-table.js'
import { cut } from '../../kernel/json/cursor.js'
import { type JsonText, smallInteger, stringOf } from '../../kernel/json/text.js'
import type { CallSink, OnLate } from '../../model/links.js'
import { idKey, isId } from '../../wire/jsonrpc.js'

/** An id of ours: a number of the conversation, or a text that cannot be mistaken for one. */
export type OwnId = number | string

/** Bounds the cancelled requests whose answer is still awaited; the oldest is forgotten first. */
const CANCELLED_MAX = 1024

/** The requests in flight in one conversation, by their ids. */
export class PendingRequests {
  readonly open = new HashTable<OwnId, CallSink>()
  /** Ended requests whose progress is still wanted. */
  readonly #kept = new HashTable<OwnId, CallSink>()
  /** Cancelled requests; created with the first. */
  #cancelled: Map<OwnId, OnLate> | undefined

  /** Relays progress to `sink` after the request has ended. */
  keep(id: OwnId, sink: CallSink): void {
    this.#kept.set(id, sink)
  }

  /** Returns the open or kept request whose progress token is at `start` to `end` of a text. */
  find(text: JsonText, start = 0, end = text.length): CallSink | undefined {
    const id = smallInteger(text, start, end) ?? ownIdOf(cut(text, start, end))
    return id === undefined ? undefined : (this.open.get(id) ?? this.#kept.get(id))
  }

  /** Closes the open request that an answer names, and returns it. */
  take(id: JsonText | undefined): CallSink | undefined {
    const own = ownIdOf(id)
    if (own === undefined) return undefined
    this.#kept.take(own)
    const sink = this.open.take(own)
    if (sink === undefined && this.#cancelled !== undefined) this.#late(own)
    return sink
  }

  /** Closes a cancelled request; `onLate` is called if the server still answers it. */
  forget(id: OwnId, onLate: OnLate | undefined): void {
    this.drop(id)
    if (onLate === undefined) return
    this.#cancelled ??= new Map()
    this.#cancelled.set(id, onLate)
    if (this.#cancelled.size <= CANCELLED_MAX) return
    const [oldest] = this.#cancelled.keys()
    if (oldest !== undefined) this.#cancelled.delete(oldest)
  }

  #late(id: OwnId): void {
    const onLate = this.#cancelled?.get(id)
    this.#cancelled?.delete(id)
    onLate?.()
  }

  /** Closes a request, open or not. */
  drop(id: OwnId): CallSink | undefined {
    this.#kept.take(id)
    return this.open.take(id)
  }

  drain(): CallSink[] {
    const sinks = this.open.values()
    this.open.clear()
    this.#kept.clear()
    this.#cancelled = undefined
    return sinks
  }
}

/**
 * Decodes an id of ours as a peer echoed it. `7.0` is the same JSON number as `7` (RFC 8259 §6). The decimal
 * string counts too: clients of the TypeScript SDK v1 convert ids with `Number`, which hides servers that
 * answer `"7"` to `7`. Nothing looser: not `"07"`, `"7.0"`, `null`.
 */
export const ownIdOf = (text: JsonText | undefined): OwnId | undefined => {
  if (text === undefined || text.length === 0) return undefined
  const number = smallInteger(text)
  if (number !== undefined && number > 0) return number
  if (!isId(text)) return undefined
  const string = stringOf(text)
  const digits = string ?? idKey(text)
  return /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : string
}
