import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '../../kernel/faults.js'
import type { ApiRequest } from './api.js'
import type { ApiAnswer } from './streams.js'

const BODY_BYTES = 64 * 1024
const BEAT_MS = 15_000
/** What waits for somebody who does not read; more ends the stream. */
const UNREAD_BYTES = 4 * 1024 * 1024

/** The statuses of what goes wrong before a request is understood; of all else 400. */
export const FAULT_STATUSES: Partial<Record<Fault['code'], number>> = { internal: 500, 'too-large': 413 }

/** Reads a whole body. Rejects with a Fault `too-large`. */
export const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES) throw new Fault('too-large', `a body may hold ${BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** The path and query of a request. Throws a Fault `invalid-params` for a target that is not a path. */
export const targetOf = ({ url = '' }: IncomingMessage): URL => {
  // `//host` would be an address of another host.
  if (!url.startsWith('/') || url.startsWith('//') || !URL.canParse(url, 'http://localhost'))
    throw new Fault('invalid-params', 'the request target must be a path')
  return new URL(url, 'http://localhost')
}

/** Whether a request accepts an event stream. */
export const wantsEvents = ({ headers: { accept = '' } }: IncomingMessage): boolean =>
  accept.includes('text/event-stream')

/** A request for the API; `base` is the start of its path. Throws like `targetOf`. */
export const apiRequest = (request: IncomingMessage, base: string, body: string): ApiRequest => {
  const { pathname, searchParams } = targetOf(request)
  const lastEventId = request.headers['last-event-id']?.toString()
  const { method = 'GET' } = request
  return {
    method,
    path: pathname.slice(base.length),
    query: searchParams,
    body,
    lastEventId,
    wantsEvents: wantsEvents(request),
  }
}

export const sendJson = (
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void => {
  if (response.headersSent) {
    // An error within a response can only be shown by cutting it off.
    if (!response.writableEnded) response.destroy()
    return
  }
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  response.end(body)
}

/** Sends what the API answered: JSON, or events until its reader leaves. */
export const sendAnswer = (response: ServerResponse, answer: ApiAnswer): void => {
  if ('value' in answer) {
    sendJson(response, answer.status, answer.value)
    return
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.flushHeaders()
  const write = (text: string): void => {
    if (response.writableLength > UNREAD_BYTES) response.destroy()
    else response.write(text)
  }
  const stop = answer.stream(
    ({ id, event, data }) => {
      const name = id === undefined ? '' : `id: ${id}\n`
      write(`${name}event: ${event}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`)
    },
    () => response.end(),
  )
  const beat = setInterval(() => write(':\n\n'), BEAT_MS)
  const onClose = (): void => {
    clearInterval(beat)
    stop()
  }
  // The client may have left before there was an answer.
  if (response.closed) onClose()
  else response.once('close', onClose)
}
