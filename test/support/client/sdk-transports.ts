import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import { WebSocket } from 'ws'
import { HopWatch } from '../era/revision-watch.js'
import type { Loose } from './raw-client.js'

/** The location of a proxy: a command to start, a URL, or a socket path. */
export interface Address {
  readonly command: readonly string[]
  readonly url: string
  readonly sseUrl: string
  readonly wsUrl: string
  readonly path: string
}

/** The common transport interface of both SDKs, as far as tests need it. */
export interface AnyTransport {
  onmessage?: (message: AnyMessage, extra?: unknown) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  start(): Promise<void>
  send(message: AnyMessage, options?: unknown): Promise<void>
  close(): Promise<void>
  terminateSession?(): Promise<void>
}

type Make = (address: Address) => unknown

/** Detects the server's era on the connection itself; the SDK would start a second process for that. */
class StdioInPlace extends StdioV2 {}

/**
 * Returns an SDK's parameters to start a command with all test variables. By default the SDK passes only a
 * few, so the proxy would use the user's state folder and find other runs.
 */
export const stdioParameters = ([command = '', ...args]: readonly string[]) => ({
  command,
  args,
  env: process.env as Record<string, string>,
  stderr: 'ignore' as const,
})

const V1 = {
  stdio: ({ command }) => new StdioV1(stdioParameters(command)),
  sse: ({ sseUrl }) => new SSEClientTransport(new URL(sseUrl)),
  http: ({ url }) => new HttpV1(new URL(url)),
  ws: ({ wsUrl }) => {
    // The SDK uses the platform's WebSocket, which Node has since 22.
    ;(globalThis as { WebSocket: unknown }).WebSocket ??= WebSocket
    return new WebSocketClientTransport(new URL(wsUrl))
  },
  socket: ({ path }) => socketTransport(path),
} as const satisfies Record<string, Make>

/** HTTP+SSE is older than this era. */
const V2 = {
  stdio: ({ command }) => new StdioInPlace(stdioParameters(command)),
  http: ({ url }) => new HttpV2(new URL(url)),
  ws: ({ wsUrl }) => wsTransport(wsUrl),
  socket: ({ path }) => socketTransport(path),
} as const satisfies Record<string, Make>

/** A transport between a client and the proxy. */
export type ClientKind = keyof typeof V1
/** Every transport of clients before 2026-07-28. */
export const CLIENTS = Object.keys(V1) as ClientKind[]
/** Every transport of clients of 2026-07-28. */
export const MODERN_CLIENTS = Object.keys(V2) as (keyof typeof V2)[]

/** Returns a transport to a proxy for the client of SDK v1 or v2. */
export const transportTo = (address: Address, kind: ClientKind, isModern: boolean): AnyTransport => {
  const make: Make | undefined = isModern ? (V2 as Partial<Record<ClientKind, Make>>)[kind] : V1[kind]
  if (make === undefined) throw new Error(`there is no ${kind} in this era`)
  return make(address) as AnyTransport
}

/** A transport with one line per message on a local socket, which the SDKs lack. */
const socketTransport = (path: string): AnyTransport => {
  const socket = connect(path)
  const connected = once(socket, 'connect')
  const transport: AnyTransport = {
    async start() {
      await connected
      socket.on('error', error => transport.onerror?.(error))
      socket.on('close', () => transport.onclose?.())
      createInterface({ input: socket }).on('line', line => transport.onmessage?.(JSON.parse(line)))
    },
    send: message =>
      new Promise((resolve, reject) => {
        socket.write(`${JSON.stringify(message)}\n`, error => (error ? reject(error) : resolve()))
      }),
    async close() {
      if (socket.destroyed) return
      socket.destroy()
      await once(socket, 'close')
    },
  }
  return transport
}

/** A transport with one message per frame, which SDK v2 no longer has. */
const wsTransport = (url: string): AnyTransport => {
  const socket = new WebSocket(url, 'mcp')
  const opened = once(socket, 'open')
  const transport: AnyTransport = {
    async start() {
      await opened
      socket.on('error', error => transport.onerror?.(error))
      socket.on('close', () => transport.onclose?.())
      socket.on('message', data => transport.onmessage?.(JSON.parse(String(data))))
    },
    async send(message) {
      socket.send(JSON.stringify(message))
    },
    async close() {
      if (socket.readyState === WebSocket.CLOSED) return
      socket.close()
      await once(socket, 'close')
    },
  }
  return transport
}

/** Any message, loosely typed for assertions. */
export interface AnyMessage {
  readonly id?: string | number | undefined
  readonly method?: string
  readonly params?: Loose
  readonly result?: Loose
  readonly error?: { code: number; message: string; data?: Loose }
}

/** Prefix that distinguishes clients' ids and tokens from others. */
const MARK = 'client-'
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

const marked = (value: unknown): string => `${MARK}${typeof value}-${String(value)}`
const unmarked = (value: unknown): unknown => {
  const [, type, text] = /^client-(number|string)-(.*)$/.exec(String(value)) ?? []
  return type === undefined ? value : type === 'number' ? Number(text) : text
}

/** Returns a message with the member at this path converted, or the message itself without that member. */
const turned = (message: Loose, path: readonly string[], turn: (value: unknown) => unknown): Loose => {
  const [name = '', ...rest] = path
  if (message?.[name] === undefined) return message
  return { ...message, [name]: rest.length === 0 ? turn(message[name]) : turned(message[name], rest, turn) }
}

const markedAll = (message: AnyMessage): AnyMessage => {
  const withProgressToken = turned(message, ['params', '_meta', 'progressToken'], marked)
  if (message.method === 'notifications/cancelled')
    return turned(withProgressToken, ['params', 'requestId'], marked)
  return message.method === undefined ? withProgressToken : turned(withProgressToken, ['id'], marked)
}

const unmarkedAll = (message: AnyMessage): AnyMessage =>
  [
    ...(message.method === undefined ? [['id']] : []),
    ['params', 'progressToken'],
    ['params', 'requestId'],
    ['params', '_meta', SUBSCRIPTION],
    ['result', '_meta', SUBSCRIPTION],
  ].reduce((said, path) => turned(said, path, unmarked), message)

/** Records all messages on a client's transport, in order; the SDK above has its own ids. */
export class Wire {
  readonly sent: AnyMessage[] = []
  readonly heard: AnyMessage[] = []
  /** Checks every message of the proxy. */
  readonly watch = new HopWatch(true)
  readonly #events = new EventEmitter().setMaxListeners(0)

  /**
   * Watches a transport that is not yet started; makes `initialize` offer `revision` instead of the SDK's
   * choice.
   */
  constructor(transport: AnyTransport, revision: string) {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      const said = markedAll(offering(message, revision))
      this.sent.push(said)
      this.watch.peerSays(said)
      return send(said, options)
    }
    // The SDKs replace their handlers, even after the start.
    let hear: AnyTransport['onmessage']
    const onMessage: AnyTransport['onmessage'] = (message, extra) => {
      this.heard.push(message)
      this.watch.proxySays(message)
      hear?.(unmarkedAll(message), extra)
      this.#events.emit('message')
    }
    Object.defineProperty(transport, 'onmessage', {
      get: () => (hear === undefined ? undefined : onMessage),
      set: (handler: AnyTransport['onmessage']) => {
        if (handler !== onMessage) hear = handler
      },
    })
  }

  /** Resolves with the first matching message, from now or from index `from`. */
  async hears(fits: (message: AnyMessage) => boolean, from = 0): Promise<AnyMessage> {
    for (;;) {
      const found = this.heard.slice(from).find(fits)
      if (found !== undefined) return found
      await once(this.#events, 'message')
    }
  }

  /** Returns the last call of a tool. */
  lastCall(tool: string): AnyMessage | undefined {
    return this.sent.findLast(({ method, params }) => method === 'tools/call' && params.name === tool)
  }

  /** Returns the answer to a request and the messages received before it. */
  answerTo(request: AnyMessage | undefined) {
    const at = this.heard.findIndex(({ id, method }) => id === request?.id && method === undefined)
    return { answer: this.heard[at], before: this.heard.slice(0, Math.max(at, 0)) }
  }

  /**
   * Returns the proxy's tokens that are valid on this hop only: cursors, states, and ids of its own
   * questions.
   */
  get minted(): readonly string[] {
    return this.heard
      .flatMap(({ id, method, result }) => [
        result?.nextCursor,
        result?.requestState,
        method === undefined ? undefined : id,
      ])
      .filter(value => typeof value === 'string')
  }
}

const offering = (message: AnyMessage, revision: string): AnyMessage =>
  message.method === 'initialize'
    ? { ...message, params: { ...message.params, protocolVersion: revision } }
    : message
