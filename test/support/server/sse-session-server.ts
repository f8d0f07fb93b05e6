import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { Loose } from '../client/raw-client.js'
import { listenFor } from './plain-http-server.js'
import { reply, resultOf } from './session-server.js'

/** A server over HTTP+SSE with a tool `echo`; a test sets its answer to POSTs of unknown sessions. */
export class SseSessionServer {
  readonly ran: string[] = []
  readonly posted: string[] = []
  opened = 0
  onUnknown: (message: Loose, response: ServerResponse) => boolean = (_message, response) =>
    reply(response, 404, 'Session not found')
  readonly #streams = new Map<string, ServerResponse>()
  #forgotten = new Set<string>()

  /** Starts it; resolves to its entry in a configuration. */
  async start(t: Test): Promise<object> {
    const server = createServer((request, response) => {
      const session = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId') ?? ''
      if (request.method === 'GET') this.#open(response)
      else void text(request).then(body => this.#post(session, JSON.parse(body), response))
    })
    return { type: 'sse', url: `${await listenFor(t, server)}/sse` }
  }

  /** Loses every session, and leaves their streams open. */
  forget(): void {
    this.#forgotten = new Set(this.#streams.keys())
  }

  #open(response: ServerResponse): void {
    this.opened += 1
    const session = `s${this.opened}`
    this.#streams.set(session, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: endpoint\ndata: /messages?sessionId=${session}\n\n`)
  }

  #post(session: string, message: Loose, response: ServerResponse): void {
    this.posted.push(message.method)
    if (this.#forgotten.has(session)) {
      this.onUnknown(message, response)
      return
    }
    reply(response, 202)
    if (message.id === undefined) return
    this.ran.push(message.method)
    const answer = { jsonrpc: '2.0', id: message.id, result: resultOf(message) }
    this.#streams.get(session)?.write(`data: ${JSON.stringify(answer)}\n\n`)
  }
}
