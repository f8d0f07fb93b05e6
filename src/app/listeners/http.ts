import type { ListenConfig } from '../../config/types.js'
import { createHttpListener, createSseListener } from '../../eras/index.js'
import type { Principal } from '../../model/peer.js'
import type { RefusedRequest } from '../../transport/http/gate.js'
import { listenHttp } from '../../transport/http/server.js'
import type { HttpHandler } from '../../wire/http.js'
import { IDENTITY } from '../identity.js'
import { lateModule } from '../late-module.js'
import type { ProxyStatus } from '../status.js'
import type { PipeContext } from './pipes.js'
import { createWsFront } from './ws.js'

/** The endpoints on one HTTP port. */
export interface HttpFront {
  /** The MCP endpoint over Streamable HTTP, ready to be pasted into a client. */
  readonly url: string
  /** The endpoint over HTTP+SSE for older clients, if it is served. */
  readonly sseUrl: string | undefined
  /** The endpoint over WebSocket, if it is served. */
  readonly wsUrl: string | undefined
  readonly host: string
  readonly port: number
  /** Sessions of all endpoints together. */
  readonly sessions: number
  /** While memory is short: lets go of what is kept for convenience, and of what nobody seems to use. */
  shed(): void
  close(): Promise<void>
}

const MCP_PATH = '/mcp'
const SSE_PATH = '/sse'
const MESSAGES_PATH = '/messages'
const WS_PATH = '/ws'
/** Open to everybody: what they answer is no secret. */
const HEALTH_PATHS = new Set(['/healthz', '/readyz'])

/** What an HTTP front reports to. */
export interface FrontContext extends PipeContext {
  /** For `/status`. */
  readonly status: () => ProxyStatus
  /** Called with each refused request and its principal, if refusals are audited. */
  readonly onRefused: ((refused: RefusedRequest, principal: Principal) => void) | undefined
}

/**
 * Serves Streamable HTTP at `/mcp`, HTTP+SSE at `/sse` and `/messages`, WebSocket at `/ws`, and `/healthz`,
 * `/readyz` and `/status`, on one port. Rejects with a Fault `unavailable` if it cannot listen.
 */
export const serveHttp = async (listen: ListenConfig, context: FrontContext): Promise<HttpFront> => {
  const { onRefused } = context
  const http = createHttpListener({ ...context, identity: IDENTITY, principalOf })
  const sse = listen.sse
    ? createSseListener({ ...context, identity: IDENTITY, principalOf, messagesPath: MESSAGES_PATH })
    : undefined
  const ws = listen.ws ? createWsFront({ path: WS_PATH, principalOf, context }) : undefined
  const listener = await listenHttp({
    ...listen,
    open: HEALTH_PATHS,
    endpoints: new Map([
      [MCP_PATH, forKnown(http.handle, context)],
      ...(sse === undefined
        ? []
        : ([
            [SSE_PATH, forKnown(sse.stream, context)],
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

const LEAVING = JSON.stringify({
  jsonrpc: '2.0',
  error: { code: -32603, message: 'The proxy is shutting down' },
})

const httpPages = lateModule(() => import('./pages.js'))

/** While the proxy drains, only clients with a session are served: they may have answers to give. */
const forKnown =
  (handler: HttpHandler, { isDraining }: FrontContext): HttpHandler =>
  (request, responder) => {
    if (isDraining() && request.headers['mcp-session-id'] === undefined) {
      responder.send(503, { 'content-type': 'application/json', 'retry-after': '5' }, LEAVING)
    } else handler(request, responder)
  }

/** Everybody on this machine is one principal; everybody else, without authentication, is another that shares nothing. */
const principalOf = ({ remoteAddress }: { readonly remoteAddress: string }): Principal =>
  remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress) ? 'local' : `anonymous ${remoteAddress}`

/** The host of a URL that a person can open: a wildcard address is reached by loopback. */
const urlHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
