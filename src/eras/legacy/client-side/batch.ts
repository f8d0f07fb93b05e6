import type { ByteAccount, Holding } from '../../../kernel/byte-account.js'
import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { ownErrorText } from '../../../model/rpc-error.js'
import type { ReplyStream } from '../../../rpc/outlet.js'
import type { Classified } from '../../../wire/classify.js'
import { encodeError } from '../../../wire/jsonrpc.js'
import { whole } from '../../../wire/message-parts.js'
import { encodeLegacyFault } from '../errors.js'
import type { LegacyUplink } from './uplink.js'

/** The only revision with JSON-RPC batches (2025-03-26, basic, "Batching"). */
const BATCH_REVISION: LegacyRevision = '2025-03-26'

/** Returns the reason to reject a batch from this client; undefined to accept it. */
export const batchError = (items: readonly Classified[], uplink: LegacyUplink): string | undefined => {
  if (items.some(isInitialize)) return 'initialize must not be part of a batch'
  if (!uplink.isKnown) return 'Not initialized'
  if (uplink.revision !== BATCH_REVISION) return `Batch not supported in ${uplink.revision}`
  return undefined
}

const isInitialize = (item: Classified): boolean =>
  item.is === 'message' && item.message.kind === 'request' && item.message.method === 'initialize'

/** Returns whether a member of a batch gets an answer: requests do, and unreadable members. */
export const isAnswered = (item: Classified): boolean =>
  item.is === 'message' ? item.message.kind === 'request' : item.is === 'batch' || !item.isResponse

/** Returns the params of the tool calls in a batch. */
export const toolCallsIn = (items: readonly Classified[]): readonly JsonText[] =>
  items.flatMap(item => {
    if (item.is !== 'message' || item.message.kind !== 'request') return []
    const { method, params } = item.message
    return method === 'tools/call' ? (params ?? []) : []
  })

/** A reply stream for messages that are not answered. */
export const NO_REPLY: ReplyStream = { canAsk: false, send: () => undefined, end: () => undefined }

/**
 * Runs the members of a batch independently. With an account, their answers are counted and end `replies` as
 * one array. Without one, each is sent separately, because SDK clients drop an array in an event.
 */
export const runBatch = (
  items: readonly Classified[],
  uplink: LegacyUplink,
  replies: ReplyStream,
  account: ByteAccount | undefined,
): void => {
  const answers = account && new BatchAnswers(account)
  let open = items.filter(isAnswered).length
  const repliesTo = (id: JsonText | undefined): ReplyStream => ({
    canAsk: replies.canAsk,
    arrival: replies.arrival,
    get goneMs() {
      return replies.goneMs
    },
    keepAlive: () => replies.keepAlive?.(),
    send: (frame, mayDrop) => replies.send(frame, mayDrop),
    end(frame) {
      if (frame !== undefined && answers !== undefined) answers.add(whole(frame), id)
      else if (frame !== undefined) replies.send(whole(frame))
      open -= 1
      if (open === 0) replies.end(answers?.take())
    },
  })
  for (const item of items) {
    const stream = isAnswered(item) ? repliesTo(idOf(item)) : NO_REPLY
    if (item.is === 'message') uplink.receive(item.message, stream)
    else if (item.is === 'batch')
      stream.end(encodeError(undefined, ownErrorText(-32600, 'A batch may not hold a batch')))
    else stream.end(encodeError(item.id, ownErrorText(item.code, item.why)))
  }
}

/** Returns the id for the answer to a member of a batch; undefined if it gets none or lacks an id. */
export const idOf = (item: Classified): JsonText | undefined => {
  if (item.is === 'malformed') return item.isResponse ? undefined : item.id
  return item.is === 'message' && item.message.kind === 'request' ? item.message.id : undefined
}

/** Collects the answers to a batch; one that exceeds the account becomes an error. */
class BatchAnswers {
  readonly #account: ByteAccount
  readonly #frames: Buffer[] = []
  readonly #holdings: Holding[] = []

  constructor(account: ByteAccount) {
    this.#account = account
  }

  add(frame: Buffer, id: JsonText | undefined): void {
    const holding = this.#account.reserve(frame.length)
    if (holding !== undefined) this.#holdings.push(holding)
    this.#frames.push(holding === undefined ? encodeError(id, encodeLegacyFault(tooLong())) : frame)
  }

  /** The answers as one array; undefined if there are none. */
  take(): Buffer | undefined {
    for (const holding of this.#holdings) holding.set(0)
    if (this.#frames.length === 0) return undefined
    const parts = this.#frames.flatMap((frame, index) => [Buffer.from(index === 0 ? '[' : ','), frame])
    return Buffer.concat([...parts, Buffer.from(']')])
  }
}

const tooLong = (): Fault =>
  new Fault('too-large', 'The answer is too long to be held until the batch is complete')
