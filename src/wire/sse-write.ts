/** The headers of every event stream; the last keeps proxies in front of us from collecting events. */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const

/** Keeps an event stream alive through proxies: a comment, which readers ignore. */
export const SSE_COMMENT = Buffer.from(':\n\n')

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

/**
 * Writes one server-sent event (WHATWG HTML §9.2). Data may hold line ends of any kind, each becomes a `data`
 * line, so the reader sees LF for all of them. CR, LF and NUL, which would end or void a field, are taken out
 * of `id` and `event`.
 */
export function sseEvent({ id, event, data, retryMs }: SseEventToWrite): Buffer {
  const head =
    (id === undefined ? '' : `id: ${oneField(id)}\n`) +
    (event === undefined ? '' : `event: ${oneField(event)}\n`) +
    (retryMs === undefined ? '' : `retry: ${Math.round(retryMs)}\n`) +
    'data: '
  const body = dataLines(typeof data === 'string' ? Buffer.from(data) : data)
  const headBytes = Buffer.byteLength(head)
  const whole = Buffer.allocUnsafe(headBytes + body.length + END.length)
  whole.write(head, 0)
  whole.set(body, headBytes)
  whole.write(END, headBytes + body.length, 'latin1')
  return whole
}

const oneField = (text: string): string => text.replaceAll(/[\r\n\0]/g, '')

/** Our JSON is on one line, so the second way is for foreign text only; latin1 keeps every byte as it is. */
function dataLines(data: Buffer): Buffer {
  if (!data.includes(LF) && !data.includes(CR)) return data
  return Buffer.from(data.toString('latin1').replaceAll(/\r\n|\r|\n/g, '\ndata: '), 'latin1')
}
