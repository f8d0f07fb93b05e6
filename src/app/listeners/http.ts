import type { ListenConfig } from '../../config/types.js'
import { createHttpListener, createSseListener } from '../../eras/index.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { ClientHandler } from '../../model/links.js'
import type { Principal } from '../../model/peer.js'
import type { RefusedRequest } from '../../transport/http/front.js'
import { listenHttp } from '../../transport/http/server.js'
import type { HttpHandler } from '../../wire/http.js'
import { IDENTITY } from '../identity.js'
import { lateModule } from '../late-module.js'
import type { ProxyStatus } from '../status.js'
import { createWsFront } from './ws.js'

/** The faces on one HTTP port. */
export interface HttpFront {
  /** The MCP endpoint over Streamable HTTP, ready to be pasted into a client. */
  readonly url: string
  /** The endpoint over HTTP+SSE for older clients, if it is served. */
  readonly sseUrl: string | undefined
  /** The endpoint over WebSocket, if it is served. */
  readonly wsUrl: string | undefined
  readonly host: string
  readonly port: number
  /** Sessions of all faces together. */
  readonly sessions: number
  /** While memory is short: lets go of what is kept for convenience, and of what nobody seems to use. */
  shed(): void
  close(): Promise<void>
}

const MCP_PATH = '/mcp'
const SSE_PATH = '/sse'
const MESSAGES_PATH = '/messages'
const WS_PATH = '/ws'
/** What they answer is no secret. */
const HEALTH_PATHS = new Set(['/healthz', '/readyz'])

/** What every face reports to. */
export interface FrontContext {
  readonly reception: ClientHandler
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  /** Whether nobody is let in any more, though those who are in may still finish. */
  readonly isDraining: () => boolean
  /** How long calls may take when nobody new is let in, or their client has said all; in milliseconds. */
  readonly drainMs: () => number
  /** For `/status`. */
  readonly status: () => ProxyStatus
  /** Told of requests that were refused, and whose they were, if that is wanted. */
  readonly onRefused: ((refused: RefusedRequest, principal: Principal) => void) | undefined
}

/**
 * Serves Streamable HTTP at `/mcp`, HTTP+SSE at `/sse` and `/messages`, WebSocket at `/ws`, and `/healthz`, `/readyz` and `/status`, on one port.
 * Rejects with a Fault `unavailable` if it cannot listen.
 */
export const serveHttp = async (listen: ListenConfig, around: FrontContext): Promise<HttpFront> => {
  const { onRefused } = around
  const http = createHttpListener({ ...around, identity: IDENTITY, principalOf })
  const sse = listen.sse
    ? createSseListener({ ...around, identity: IDENTITY, principalOf, messagesPath: MESSAGES_PATH })
    : undefined
  const ws = listen.ws ? createWsFront({ path: WS_PATH, principalOf, around }) : undefined
  const listener = await listenHttp({
    ...listen,
    open: HEALTH_PATHS,
    endpoints: new Map([
      [MCP_PATH, forKnown(http.handle, around)],
      ...(sse === undefined
        ? []
        : ([
            [SSE_PATH, forKnown(sse.stream, around)],
            [MESSAGES_PATH, sse.messages],
          ] as const)),
    ]),
    ...(ws !== undefined && { upgrade: ws.upgrade }),
    ...(onRefused !== undefined && { onRefused: refused => onRefused(refused, principalOf(refused)) }),
    other: async () => (await httpPages()).createPages(around),
    bounds: around.bounds,
    log: around.log,
    clock: around.clock,
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

/** While we drain, only clients with a session are served: they may have answers to give. */
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

/** An address as it stands in a URL a person can open: wildcards are reached by loopback. */
const urlHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
