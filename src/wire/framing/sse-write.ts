import type { MessageParts, OutgoingMessage } from '../message-parts.js'

/** The headers of every event stream; the last keeps proxies in front of us from collecting events. */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const

/** Keeps an event stream alive through proxies: a comment, which readers ignore. */
export const SSE_COMMENT = ':\n\n'

/** One event to be written; `retryMs` tells the reader how long to wait before it reconnects. */
export interface SseEventToWrite {
  readonly id?: string
  readonly event?: string
  readonly data: Buffer | string
  readonly retryMs?: number
}

const LF = 0x0a
const CR = 0x0d
const END = '\n\n'
const MESSAGE = 'event: message\ndata: '

/**
 * Writes one server-sent event (WHATWG HTML §9.2). Line ends in data become `data` lines, which a reader sees
 * as LF. CR, LF and NUL, which would end or void a field, are removed from `id` and `event`.
 */
export function sseEvent({ id, event, data, retryMs }: SseEventToWrite): MessageParts {
  const head =
    (id === undefined ? '' : `id: ${oneField(id)}\n`) +
    (event === undefined ? '' : `event: ${oneField(event)}\n`) +
    (retryMs === undefined ? '' : `retry: ${Math.round(retryMs)}\n`) +
    'data: '
  const body = dataLines(typeof data === 'string' ? Buffer.from(data) : data)
  return { head: Buffer.from(head).toString('latin1'), body, tail: END }
}

/** The event of one message, which is on one line; `id` is one that we made, without line breaks. */
export function messageEvent(message: OutgoingMessage, id?: string): MessageParts {
  const start = id === undefined ? MESSAGE : `id: ${id}\n${MESSAGE}`
  return Buffer.isBuffer(message)
    ? { head: start, body: message, tail: END }
    : { head: start + message.head, body: message.body, tail: message.tail + END }
}

const oneField = (text: string): string => text.replaceAll(/[\r\n\0]/g, '')

/** Latin1 keeps every byte as it is. */
function dataLines(data: Buffer): Buffer {
  if (!data.includes(LF) && !data.includes(CR)) return data
  return Buffer.from(data.toString('latin1').replaceAll(/\r\n|\r|\n/g, '\ndata: '), 'latin1')
}
