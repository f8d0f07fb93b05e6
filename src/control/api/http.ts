import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '../../kernel/faults.js'
import { readShortBody } from '../../transport/http/short-body.js'
import type { ApiRequest } from './api.js'
import type { ApiAnswer } from './streams.js'

const BODY_BYTES = 64 * 1024
const BEAT_MS = 15_000
/** Unread bytes after which a stream is closed. */
const UNREAD_BYTES = 4 * 1024 * 1024

/** HTTP statuses of faults found before a request is understood. All others get 400. */
export const FAULT_STATUSES: Partial<Record<Fault['code'], number>> = { internal: 500, 'too-large': 413 }

/** Reads a whole request body. Rejects with a Fault `too-large`. */
export const requestBodyOf = async (request: IncomingMessage): Promise<string> => {
  const body = await readShortBody(request, BODY_BYTES)
  if (body === undefined) throw new Fault('too-large', `the body exceeds ${BODY_BYTES} bytes`)
  return body.toString()
}

/** Returns the path and query of a request. Throws a Fault `invalid-params` if the target is not a path. */
export const targetOf = ({ url = '' }: IncomingMessage): URL => {
  // The URL parser reads `//host` as another host.
  if (!url.startsWith('/') || url.startsWith('//') || !URL.canParse(url, 'http://localhost'))
    throw new Fault('invalid-params', 'the request target must be a path')
  return new URL(url, 'http://localhost')
}

/** Returns true if a request accepts an event stream. */
export const wantsEvents = ({ headers: { accept = '' } }: IncomingMessage): boolean =>
  accept.includes('text/event-stream')

/** Builds an API request. `base` is removed from its path. Throws like `targetOf`. */
export const apiRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  base: string,
  body: string,
): ApiRequest => {
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
    onClosed: then => {
      if (response.closed) then()
      else response.once('close', then)
    },
  }
}

export const sendJson = (
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void => {
  if (response.headersSent) {
    // After the headers are sent, closing the connection is the only way to report an error.
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

/** Sends an API answer: JSON, or events until the client disconnects. */
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
  // The client may have disconnected before the answer.
  if (response.closed) onClose()
  else response.once('close', onClose)
}
