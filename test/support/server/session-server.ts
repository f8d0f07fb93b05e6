import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { Loose } from '../client/raw-client.js'
import { listenFor } from './plain-http-server.js'

/** Answers a request itself; returns false to leave it to the server. */
type Hook = (message: Loose, response: ServerResponse, request: IncomingMessage) => boolean

/** Writes a whole response. */
export const reply = (
  response: ServerResponse,
  status: number,
  body: object | string = '',
  headers: Record<string, string> = {},
): true => {
  const isText = typeof body === 'string'
  response.writeHead(status, {
    'content-type': isText ? 'text/plain' : 'application/json',
    ...headers,
  })
  response.end(isText ? body : JSON.stringify(body))
  return true
}

export const rpcError = (code: number, message: string, id: unknown = null): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

/**
 * A server over Streamable HTTP with session ids and a tool `echo`, whose answers to unknown sessions, to GET
 * and to single requests are set by a test.
 */
export class SessionServer {
  readonly sessions = new Set<string>()
  /** The methods of requests that were run, in order. */
  readonly ran: string[] = []
  /** The methods of all POSTs, in order. */
  readonly posted: string[] = []
  initialized = 0
  capabilities: object = { tools: {} }
  /** Answers a POST with an unknown session id. */
  onUnknown: Hook = (_message, response) => reply(response, 404)
  onPost: Hook = () => false
  onGet: Hook = (_message, response) => reply(response, 405)
  readonly #streams = new Set<ServerResponse>()

  /** Starts it; resolves to its entry in a configuration. */
  async start(t: Test, more: object = {}): Promise<object> {
    const server = createServer((request, response) => {
      if (request.method === 'POST') void text(request).then(body => this.#post(body, request, response))
      else if (request.method === 'GET') this.#get(request, response)
      else {
        this.sessions.delete(String(request.headers['mcp-session-id']))
        reply(response, 200)
      }
    })
    return { type: 'http', url: `${await listenFor(t, server)}/mcp`, ...more }
  }

  /** Loses every session, as after a restart. */
  forget(): void {
    this.sessions.clear()
  }

  /** Sends a message on every open event stream. */
  push(message: object): void {
    for (const stream of this.#streams)
      stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  }

  endStreams(): void {
    for (const stream of this.#streams) stream.end()
    this.#streams.clear()
  }

  /** Opens an event stream as the answer to a GET. */
  stream(response: ServerResponse): true {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    this.#streams.add(response)
    return true
  }

  #get(request: IncomingMessage, response: ServerResponse): void {
    this.onGet({}, response, request)
  }

  #post(body: string, request: IncomingMessage, response: ServerResponse): void {
    const message = JSON.parse(body)
    this.posted.push(message.method)
    if (message.method === 'initialize') {
      this.#initialize(message, response)
      return
    }
    if (message.method === 'server/discover') {
      reply(response, 400, rpcError(-32601, 'Method not found', message.id))
      return
    }
    if (this.onPost(message, response, request)) return
    if (!this.sessions.has(String(request.headers['mcp-session-id']))) {
      this.onUnknown(message, response, request)
      return
    }
    if (message.id === undefined) {
      reply(response, 202)
      return
    }
    this.ran.push(message.method)
    reply(response, 200, { jsonrpc: '2.0', id: message.id, result: resultOf(message) })
  }

  #initialize({ id, params }: Loose, response: ServerResponse): void {
    this.initialized += 1
    const session = `session-${this.initialized}`
    this.sessions.add(session)
    const { protocolVersion } = params
    const serverInfo = { name: 'session-server', version: '1' }
    const result = { protocolVersion, capabilities: this.capabilities, serverInfo }
    reply(response, 200, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': session })
  }
}

/** Returns the result of a request to a server with a tool `echo` and a resource. */
export const resultOf = ({ method, params }: Loose): object => {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: 'echo', version: '1' },
      }
    case 'tools/list':
      return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }
    case 'tools/call':
      return { content: [{ type: 'text', text: JSON.stringify(params.arguments ?? {}) }] }
    case 'resources/list':
      return { resources: [{ uri: 'mem:a', name: 'a' }] }
    case 'prompts/list':
      return { prompts: [{ name: 'p' }] }
    case 'prompts/get':
      return { messages: [] }
    case 'completion/complete':
      return { completion: { values: [] } }
    case 'resources/read':
      return { contents: [{ uri: params.uri, text: 'page' }] }
    default:
      return {}
  }
}
