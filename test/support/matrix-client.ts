import { EventEmitter, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import { BIN } from './cli.js'
import { socketPath } from './matrix-server.js'
import { startProxy } from './proxies.js'
import type { Loose } from './raw-client.js'

/** How every proxy is configured, beside its servers. */
const SETTINGS = {
  // A server's page holds two items: neither is cut where the other is.
  pageSize: 3,
  // Capabilities are those of the servers that have started by then; this machine may have much else to do.
  startupWait: '60s',
}

/** What a client needs to reach a proxy. */
export interface Door {
  readonly transport: Transport
  /** How many sessions the proxy has, where it runs in this process and tells. */
  readonly sessions: () => number | undefined
}

type Open = (t: Test, servers: Readonly<Record<string, object>>) => Promise<Door>

const overHttp =
  (make: (urls: { url: string; sseUrl: string; wsUrl: string }) => Transport): Open =>
  async (t, servers) => {
    const face = await startProxy(t, servers, SETTINGS).listen({ port: 0 })
    const { url, sseUrl = '', wsUrl = '' } = face
    return { transport: make({ url, sseUrl, wsUrl }), sessions: () => face.sessions }
  }

const OPEN = {
  stdio: async (t, servers) => {
    const file = join(t.testdir(), 'mcp.json')
    writeFileSync(file, JSON.stringify({ mcpServers: servers, ...SETTINGS }))
    const args = [BIN, 'stdio', '--config', file]
    const transport = new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' })
    return { transport, sessions: () => undefined }
  },
  sse: overHttp(({ sseUrl }) => new SSEClientTransport(new URL(sseUrl))),
  // The SDK counts on a session id that may be undefined, which its own interface forbids.
  http: overHttp(({ url }) => new StreamableHTTPClientTransport(new URL(url)) as Transport),
  ws: overHttp(({ wsUrl }) => {
    // The SDK takes the one of the platform, which Node has from 22 on.
    ;(globalThis as { WebSocket: unknown }).WebSocket ??= WebSocket
    return new WebSocketClientTransport(new URL(wsUrl))
  }),
  socket: async (t, servers) => {
    const proxy = startProxy(t, servers, SETTINGS)
    const { path } = await proxy.listenSocket(socketPath(t))
    return { transport: new SocketTransport(path), sessions: () => undefined }
  },
} as const satisfies Record<string, Open>

/** A transport between a client and the proxy. */
export type ClientKind = keyof typeof OPEN

/** Every transport of clients. */
export const CLIENTS = Object.keys(OPEN) as ClientKind[]

/** Starts a proxy of these servers, and makes the way to it; on stdio it is a process of its own, else it runs here. */
export const openDoor = (t: Test, kind: ClientKind, servers: Readonly<Record<string, object>>) =>
  OPEN[kind](t, servers)

/** Any message, loosely, for assertions. */
export interface AnyMessage {
  readonly id?: string | number | undefined
  readonly method?: string
  readonly params?: Loose
  readonly result?: Loose
  readonly error?: { code: number; message: string; data?: Loose }
}

/** What went over a client's transport, in order. */
export class Wire {
  readonly sent: AnyMessage[] = []
  readonly heard: AnyMessage[] = []
  readonly #events = new EventEmitter()

  /** Listens at a transport that is not started; `initialize` offers `revision` whatever the SDK would offer. */
  constructor(transport: Transport, revision: string) {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      const offered = offering(message, revision)
      this.sent.push(offered)
      return send(offered, options)
    }
    transport.onmessage = message => {
      this.heard.push(message)
      this.#events.emit('message')
    }
  }

  /** The first message heard that fits, from now or from the `from`-th on. */
  async hears(fits: (message: AnyMessage) => boolean, from = 0): Promise<AnyMessage> {
    for (;;) {
      const found = this.heard.slice(from).find(fits)
      if (found !== undefined) return found
      await once(this.#events, 'message')
    }
  }

  /** The last call of a tool that was sent. */
  lastCall(tool: string): AnyMessage | undefined {
    return this.sent.findLast(({ method, params }) => method === 'tools/call' && params.name === tool)
  }

  /** The answer to a request, and what was heard before it. */
  answerTo(request: AnyMessage | undefined) {
    const at = this.heard.findIndex(({ id, method }) => id === request?.id && method === undefined)
    return { answer: this.heard[at], before: this.heard.slice(0, Math.max(at, 0)) }
  }
}

const offering = (message: JSONRPCMessage, revision: string): JSONRPCMessage =>
  'method' in message && message.method === 'initialize'
    ? { ...message, params: { ...message.params, protocolVersion: revision } }
    : message

/** A line per message on a local socket, for which the SDK has nothing. */
class SocketTransport implements Transport {
  onmessage: NonNullable<Transport['onmessage']> = () => undefined
  onclose = (): void => undefined
  onerror = (_error: Error): void => undefined
  readonly #path: string
  readonly #lines = new ReadBuffer()
  #socket: Socket | undefined

  constructor(path: string) {
    this.#path = path
  }

  async start(): Promise<void> {
    const socket = connect(this.#path)
    await once(socket, 'connect')
    this.#socket = socket
    socket.on('error', error => this.onerror(error))
    socket.on('close', () => this.onclose())
    socket.on('data', chunk => {
      this.#lines.append(chunk)
      for (let next = this.#lines.readMessage(); next !== null; next = this.#lines.readMessage()) {
        this.onmessage(next)
      }
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket?.write(serializeMessage(message), error => (error ? reject(error) : resolve()))
    })
  }

  async close(): Promise<void> {
    if (this.#socket?.destroyed !== false) return
    this.#socket.destroy()
    await once(this.#socket, 'close')
  }
}
