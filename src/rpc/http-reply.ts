import type { Bounds } from '../kernel/bounds.js'
import { Fault } from '../kernel/faults.js'
import type { InboundReply } from '../wire/http.js'
import { mediaTypeOf } from '../wire/media-type.js'
import { SseReader } from '../wire/sse-read.js'

/** Where a server is, and the headers that its configuration wants on every request. */
export interface RemoteAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** A POST carries one message, and its answer is JSON or a stream (basic/transports, "Sending Messages to the Server"). */
export const POST_HEADERS = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
} as const

/** A whole body. Rejects with a Fault `too-large` above the limit for messages. */
export const collect = async (reply: InboundReply, bounds: Bounds): Promise<Buffer> => {
  const max = bounds.max.message
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of reply.body) {
    bytes += chunk.length
    if (bytes > max) {
      bounds.hit('message')
      reply.discard()
      throw new Fault('too-large', `The server's answer is longer than ${max} bytes`)
    }
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

/**
 * The body of a reply that is neither JSON with a good status nor a stream, if it may be the answer all the same. What a
 * server says instead of letting us in may name tokens and accounts, and is not read.
 */
export const refusalOf = async (reply: InboundReply, bounds: Bounds): Promise<Buffer | undefined> => {
  const isJson = mediaTypeOf(reply.headers['content-type']) === 'application/json'
  if (isJson && reply.status !== 401 && reply.status !== 403) return await collect(reply, bounds)
  reply.discard()
  return undefined
}

/** What an HTTP status without a JSON-RPC answer means for the request; a 401 never reaches the client as one. */
export const statusFault = (status: number): Fault =>
  status === 401 || status === 403
    ? new Fault('unauthorized', 'The server needs authorization', { data: { httpStatus: status } })
    : new Fault(
        'unavailable',
        status >= 200 && status < 300
          ? 'The server answered with something that is neither JSON nor an event stream'
          : `The server answered with HTTP status ${status}`,
        { data: { httpStatus: status } },
      )

/** What is read from a stream. */
export interface StreamHandlers {
  message(data: Buffer): void
  /** A chunk was read to its end. */
  read(reader: SseReader): void
  /** A message is longer than the limit and is thrown away, though it may not be over yet. */
  skipped(bytes: number): void
}

/** A message that goes on for so many times the limit has no end: the stream is left. */
const ENDLESS = 2

/** Reads events until the stream ends or breaks. Resolves to whether any event came; never rejects. */
export const readStream = async (
  reply: InboundReply,
  on: StreamHandlers,
  bounds: Bounds,
): Promise<boolean> => {
  const maxBytes = bounds.max.message
  const reader = new SseReader({ maxBytes })
  const skip = (bytes: number): void => {
    bounds.hit('message')
    on.skipped(bytes)
  }
  let heard = false
  /** Whether it was told already that the current event is too long. */
  let isTold = false
  try {
    for await (const chunk of reply.body) {
      reader.push(chunk, {
        onEvent: ({ data }) => {
          heard = true
          // An event without data only teaches its id.
          if (data.length > 0) on.message(data)
        },
        onSkipped: bytes => {
          if (!isTold) skip(bytes)
          isTold = false
        },
      })
      on.read(reader)
      const { overrunBytes } = reader
      if (overrunBytes > 0 && !isTold) {
        isTold = true
        skip(overrunBytes)
      }
      if (overrunBytes > ENDLESS * maxBytes) break
    }
  } catch {
    // A break in the middle is an end: what is missing can be asked for.
  } finally {
    reply.discard()
  }
  return heard
}
