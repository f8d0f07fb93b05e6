import { errorText } from '../../model/fault-table.js'
import type { LegacyRevision } from '../../model/revision.js'
import type { ReplyStream } from '../../rpc/host.js'
import type { Classified } from '../../wire/classify.js'
import { type OutgoingFrame, whole } from '../../wire/framed.js'
import { encodeRefusal } from '../../wire/jsonrpc.js'
import type { LegacyUplink } from './uplink.js'

/** The only revision with JSON-RPC batches (2025-03-26, basic, "Batching"). */
const BATCH_REVISION: LegacyRevision = '2025-03-26'

/** Why an array may not be taken from this client; undefined if it may. */
export const batchRefusal = (items: readonly Classified[], uplink: LegacyUplink): string | undefined => {
  if (items.some(isInitialize)) return 'initialize must not be part of a batch'
  if (!uplink.isKnown) return 'Not initialized'
  if (uplink.revision !== BATCH_REVISION) return `Batch not supported in ${uplink.revision}`
  return undefined
}

const isInitialize = (item: Classified): boolean =>
  item.is === 'message' && item.message.kind === 'request' && item.message.method === 'initialize'

/** Whether a member of a batch gets an answer: requests, and what is too broken to tell. */
export const isAnswered = (item: Classified): boolean =>
  item.is === 'message' ? item.message.kind === 'request' : item.is === 'batch' || !item.answers

/** Where a batch's frames go: what is said on the way, the answers one by one, and that all are there. */
export interface BatchWay {
  readonly canAsk: boolean
  related(frame: Buffer, mayDrop?: boolean): void
  answered(frame: Buffer): void
  /** Follows the last answer; not called if no member is to be answered. */
  done(): void
}

/** For messages that are not answered. */
export const SILENT: ReplyStream = { canAsk: false, send: () => undefined, end: () => undefined }

/** Runs the members of a batch, each for itself. */
export const runBatch = (items: readonly Classified[], uplink: LegacyUplink, way: BatchWay): void => {
  let open = items.filter(isAnswered).length
  const ended = (frame: OutgoingFrame | undefined): void => {
    if (frame !== undefined) way.answered(whole(frame))
    open -= 1
    if (open === 0) way.done()
  }
  const answered: ReplyStream = {
    canAsk: way.canAsk,
    send: (frame, mayDrop) => way.related(frame, mayDrop),
    end: ended,
  }
  for (const item of items) {
    const replies = isAnswered(item) ? answered : SILENT
    if (item.is === 'message') uplink.receive(item.message, replies)
    else if (item.is === 'batch')
      replies.end(encodeRefusal(undefined, errorText(-32600, 'A batch may not hold a batch')))
    else replies.end(encodeRefusal(item.id, errorText(item.code, item.why)))
  }
}

/** Answers as one JSON array. */
export const arrayOf = (frames: readonly Buffer[]): Buffer => {
  const parts: Buffer[] = []
  for (const [index, frame] of frames.entries()) parts.push(Buffer.from(index === 0 ? '[' : ','), frame)
  return Buffer.concat([...parts, Buffer.from(']')])
}
