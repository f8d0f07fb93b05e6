import { type MessageParts, type OutgoingMessage, textFrame } from '../message-parts.js'

/** The headers of every event stream; the last one keeps reverse proxies from buffering events. */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const

/** A comment, which keeps an event stream alive through proxies and is ignored by readers. */
export const SSE_COMMENT = ':\n\n'

const END = '\n\n'
const MESSAGE = 'event: message\ndata: '

/** Makes the first event of a stream: the id to resume from, and the delay before that. */
export const primingEvent = (id: string, retryMs: number): MessageParts =>
  textFrame(`id: ${id}\nretry: ${retryMs}\ndata: ${END}`)

/** Makes the first event of HTTP+SSE: the path for messages. */
export const endpointEvent = (path: string): string => `event: endpoint\ndata: ${path}${END}`

/** Makes the event of one message, which must be on one line; `id` is one of ours, without line breaks. */
export function messageEvent(message: OutgoingMessage, id?: string): MessageParts {
  const start = id === undefined ? MESSAGE : `id: ${id}\n${MESSAGE}`
  return Buffer.isBuffer(message)
    ? { head: start, body: message, tail: END }
    : { head: start + message.head, body: message.body, tail: message.tail + END }
}
