import type { ByteAccount, Holding } from '../../../kernel/byte-account.js'
import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { errorText } from '../../../model/rpc-error.js'
import type { ReplyStream } from '../../../rpc/host.js'
import type { Classified } from '../../../wire/classify.js'
import { encodeError } from '../../../wire/jsonrpc.js'
import { whole } from '../../../wire/message-parts.js'
import { encodeFault } from '../errors.js'
import type { LegacyUplink } from './uplink.js'

/** The only revision with JSON-RPC batches (2025-03-26, basic, "Batching"). */
const BATCH_REVISION: LegacyRevision = '2025-03-26'

/** Says why a batch is not accepted from this client; undefined if it is. */
export const batchError = (items: readonly Classified[], uplink: LegacyUplink): string | undefined => {
  if (items.some(isInitialize)) return 'initialize must not be part of a batch'
  if (!uplink.isKnown) return 'Not initialized'
  if (uplink.revision !== BATCH_REVISION) return `Batch not supported in ${uplink.revision}`
  return undefined
}

const isInitialize = (item: Classified): boolean =>
  item.is === 'message' && item.message.kind === 'request' && item.message.method === 'initialize'

/** Whether a member of a batch gets an answer: requests do, and what is too malformed to tell. */
export const isAnswered = (item: Classified): boolean =>
  item.is === 'message' ? item.message.kind === 'request' : item.is === 'batch' || !item.answers

/** Where a batch's frames go: related messages, the answers one by one, and the end. */
export interface BatchReplies {
  readonly canAsk: boolean
  send(frame: Buffer, mayDrop?: boolean): void
  /** `id` is that of the request, as far as it is known. */
  answered(frame: Buffer, id: JsonText | undefined): void
  /** Follows the last answer; not called if no member is to be answered. */
  done(): void
}

/** A reply stream for messages that are not answered. */
export const SILENT: ReplyStream = { canAsk: false, send: () => undefined, end: () => undefined }

/** Runs the members of a batch, each for itself. */
export const runBatch = (items: readonly Classified[], uplink: LegacyUplink, way: BatchReplies): void => {
  let open = items.filter(isAnswered).length
  const answeredBy = (id: JsonText | undefined): ReplyStream => ({
    canAsk: way.canAsk,
    send: (frame, mayDrop) => way.send(frame, mayDrop),
    end(frame) {
      if (frame !== undefined) way.answered(whole(frame), id)
      open -= 1
      if (open === 0) way.done()
    },
  })
  for (const item of items) {
    const replies = isAnswered(item) ? answeredBy(idOf(item)) : SILENT
    if (item.is === 'message') uplink.receive(item.message, replies)
    else if (item.is === 'batch')
      replies.end(encodeError(undefined, errorText(-32600, 'A batch may not hold a batch')))
    else replies.end(encodeError(item.id, errorText(item.code, item.why)))
  }
}

const idOf = (item: Classified): JsonText | undefined =>
  item.is === 'message' && item.message.kind === 'request' ? item.message.id : undefined

/** The answers to a batch that go out as one JSON array, until all are there. */
export class BatchAnswers {
  readonly #account: ByteAccount
  #frames: Buffer[] = []
  #holdings: Holding[] = []

  /** Counts answers against `account`; one that does not fit becomes an error. */
  constructor(account: ByteAccount) {
    this.#account = account
  }

  add(frame: Buffer, id: JsonText | undefined): void {
    const holding = this.#account.reserve(frame.length)
    if (holding === undefined) this.#frames.push(encodeError(id, encodeFault(tooLong())))
    else {
      this.#frames.push(frame)
      this.#holdings.push(holding)
    }
  }

  /** All that were added; undefined if there are none. */
  take(): Buffer | undefined {
    for (const holding of this.#holdings.splice(0)) holding.set(0)
    if (this.#frames.length === 0) return undefined
    const parts: Buffer[] = []
    for (const frame of this.#frames.splice(0)) parts.push(Buffer.from(parts.length === 0 ? '[' : ','), frame)
    return Buffer.concat([...parts, Buffer.from(']')])
  }
}

const tooLong = (): Fault =>
  new Fault('too-large', 'The answer is too long to wait for those to the rest of the batch')
