import { type MessageParts, type OutgoingMessage, textFrame } from '../message-parts.js'

/** The headers of every event stream; the last keeps proxies in front of us from collecting events. */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const

/** Keeps an event stream alive through proxies: a comment, which readers ignore. */
export const SSE_COMMENT = ':\n\n'

const END = '\n\n'
const MESSAGE = 'event: message\ndata: '

/** The event that a stream begins with: what to resume after, and how long to wait before that. */
export const primingEvent = (id: string, retryMs: number): MessageParts =>
  textFrame(`id: ${id}\nretry: ${retryMs}\ndata: ${END}`)

/** The event that HTTP+SSE begins with: where messages are to be sent. */
export const endpointEvent = (path: string): string => `event: endpoint\ndata: ${path}${END}`

/** The event of one message, which is on one line; `id` is one that we made, without line breaks. */
export function messageEvent(message: OutgoingMessage, id?: string): MessageParts {
  const start = id === undefined ? MESSAGE : `id: ${id}\n${MESSAGE}`
  return Buffer.isBuffer(message)
    ? { head: start, body: message, tail: END }
    : { head: start + message.head, body: message.body, tail: message.tail + END }
}
