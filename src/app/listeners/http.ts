import type { ListenConfig } from '../../config/types.js'
import { createHttpListener, createSseListener } from '../../eras/index.js'
import type { Principal } from '../../model/peer.js'
import type { RefusedRequest, UpgradeHandler } from '../../transport/http/gate.js'
import { listenHttp } from '../../transport/http/server.js'
import type { WsServer } from '../../transport/ws/server.js'
import type { HttpHandler } from '../../wire/http.js'
import { IDENTITY } from '../identity.js'
import { lateModule } from '../late-module.js'
import type { ProxyStatus } from '../status.js'
import { type ChannelContext, ChannelListeners } from './channels.js'

/** The endpoints on one HTTP port. */
export interface HttpEndpoints {
  /** The MCP endpoint over Streamable HTTP, ready to be pasted into a client. */
  readonly url: string
  /** The endpoint over HTTP+SSE for older clients, if it is served. */
  readonly sseUrl: string | undefined
  /** The endpoint over WebSocket, if it is served. */
  readonly wsUrl: string | undefined
  readonly host: string
  readonly port: number
  readonly sessions: number
  /** Frees what is kept for convenience, and what nobody seems to use; called while memory is short. */
  shed(): void
  close(): Promise<void>
}

const MCP_PATH = '/mcp'
const SSE_PATH = '/sse'
const MESSAGES_PATH = '/messages'
const WS_PATH = '/ws'
/** Open to everybody: their answers are no secret. */
const HEALTH_PATHS = new Set(['/healthz', '/readyz'])

export interface EndpointContext extends ChannelContext {
  readonly status: () => ProxyStatus
  /** Called with each refused request and its principal; undefined if refusals are not audited. */
  readonly onRefused: ((refused: RefusedRequest, principal: Principal) => void) | undefined
}

/** Serves all endpoints and pages on one port. Rejects with a Fault `unavailable` if it cannot listen. */
export const serveHttp = async (listen: ListenConfig, context: EndpointContext): Promise<HttpEndpoints> => {
  const { onRefused } = context
  const http = createHttpListener({ ...context, identity: IDENTITY, principalOf })
  const sse = listen.sse
    ? createSseListener({ ...context, identity: IDENTITY, principalOf, messagesPath: MESSAGES_PATH })
    : undefined
  const ws = listen.ws ? createWsEndpoint(WS_PATH, context) : undefined
  const listener = await listenHttp({
    ...listen,
    open: HEALTH_PATHS,
    endpoints: new Map([
      [MCP_PATH, withDraining(http.handle, context)],
      ...(sse === undefined
        ? []
        : ([
            [SSE_PATH, withDraining(sse.stream, context)],
            [MESSAGES_PATH, sse.messages],
          ] as const)),
    ]),
    ...(ws !== undefined && { upgrade: ws.upgrade }),
    ...(onRefused !== undefined && { onRefused: refused => onRefused(refused, principalOf(refused)) }),
    other: async () => (await httpPages()).createPages(context),
    bounds: context.bounds,
    log: context.log,
    clock: context.clock,
  })
  const at = `${urlHost(listener.host)}:${listener.port}`
  return {
    url: `http://${at}${MCP_PATH}`,
    sseUrl: sse && `http://${at}${SSE_PATH}`,
    wsUrl: ws && `ws://${at}${WS_PATH}`,
    host: listener.host,
    port: listener.port,
    get sessions() {
      return http.sessions + (sse?.sessions ?? 0) + (ws?.sessions ?? 0)
    },
    shed() {
      http.shed()
      listener.shed()
    },
    async close() {
      http.close()
      sse?.close()
      await ws?.close()
      await listener.close()
    },
  }
}

const SHUTTING_DOWN = JSON.stringify({
  jsonrpc: '2.0',
  error: { code: -32603, message: 'The proxy is shutting down' },
})

const httpPages = lateModule(() => import('./pages.js'))

/** Serves only clients with a session while the proxy drains: they may still have answers to give. */
const withDraining =
  (handler: HttpHandler, { isDraining }: EndpointContext): HttpHandler =>
  (request, responder) => {
    if (isDraining() && request.headers['mcp-session-id'] === undefined) {
      responder.send(503, { 'content-type': 'application/json', 'retry-after': '5' }, SHUTTING_DOWN)
    } else handler(request, responder)
  }

/** One principal for all on this machine; without authentication, each other address is one of its own. */
const principalOf = ({ remoteAddress }: { readonly remoteAddress: string }): Principal =>
  remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress) ? 'local' : `anonymous ${remoteAddress}`

/** The host of a URL that a person can open: loopback for a wildcard address. */
const urlHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

const wsServer = lateModule(() => import('../../transport/ws/server.js'))

interface WsEndpoint {
  /** Takes over a connection. Rejects with a Fault `unavailable` while the module cannot be loaded. */
  readonly upgrade: UpgradeHandler
  readonly sessions: number
  close(): Promise<void>
}

/** Serves clients over WebSocket; the server is loaded with the first client. @internal */
export const createWsEndpoint = (path: string, context: ChannelContext): WsEndpoint => {
  const listeners = new ChannelListeners(context)
  let server: WsServer | undefined
  let isClosing = false
  const load = async (): Promise<WsServer> => {
    const { createWsServer } = await wsServer()
    // Several first clients may arrive at the same time.
    server ??= createWsServer({
      ...context,
      paths: [path],
      onChannel: (channel, request) => listeners.serve(channel, principalOf(request)),
    })
    if (isClosing) void server.close()
    return server
  }
  return {
    async upgrade(request, socket, head) {
      const loaded = server ?? (await load())
      return await loaded.upgrade(request, socket, head)
    },
    get sessions() {
      return listeners.size
    },
    async close() {
      isClosing = true
      await listeners.close()
      await server?.close()
    },
  }
}
