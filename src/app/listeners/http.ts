import type { OnGrantEvent } from '../../auth/authorization-server/grant-events.js'
import {
  type ConnectContext,
  type ConnectEndpoint,
  type ConnectEndpointOptions,
  createConnectEndpoint,
} from '../../auth/pages/endpoint.js'
import type { RefusedCredentials } from '../../auth/refused-credentials.js'
import type { Views } from '../../catalog/views/views.js'
import type { ClusterStatus } from '../../cluster/cluster.js'
import type { AuthConfig, ListenConfig, ProxyConfig } from '../../config/types.js'
import type { Api } from '../../control/api/api.js'
import type { PageSessions } from '../../control/api/page-sessions.js'
import { type ChannelContext, ChannelListeners } from '../../control/channels.js'
import {
  createHttpListener,
  createSseListener,
  type HttpListener,
  type SseListener,
} from '../../eras/index.js'
import { basePathOf } from '../../kernel/base-url.js'
import type { Principal, RenewCaller } from '../../kernel/caller.js'
import { lateModule } from '../../kernel/late-module.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import type { RefusalReason } from '../../kernel/meter.js'
import { localUrlHost } from '../../kernel/url-address.js'
import { ownErrorText, RPC_CODES } from '../../model/rpc-error.js'
import type { sealedSessionsOf } from '../../state/sealed-sessions.js'
import type { MetricsPages } from '../../telemetry/metrics/pages.js'
import type { ProxyStatus } from '../../telemetry/status/status.js'
import type {
  GateBase,
  GateOptions,
  NodeHandler,
  RefusedRequest,
  UpgradeHandler,
} from '../../transport/http/gate.js'
import { type HttpPort, listenHttp } from '../../transport/http/server.js'
import type { WsServer } from '../../transport/ws/server.js'
import {
  ENDPOINT_PATHS,
  type EndpointName,
  endpointPath,
  parseEndpointPath,
} from '../../wire/http/endpoint-path.js'
import type { HttpHandler } from '../../wire/http.js'
import { encodeError } from '../../wire/jsonrpc.js'
import type { ResourceServer } from '../auth/resource-server.js'
import type { JoinedCluster } from '../cluster/join.js'
import { relayedEndpoint } from '../cluster/relayed-endpoint.js'
import { renewalOf } from './caller-renewal.js'
import { createCallers } from './callers.js'
import type { PagesContext } from './pages.js'
import { refusalsOf } from './refusals.js'
import { ViewCallers } from './views.js'

/** The endpoints of one HTTP port. */
export interface HttpEndpoints {
  /** The URL of the MCP endpoint over Streamable HTTP, for client configurations. */
  readonly url: string
  /** The same endpoint for local programs. */
  readonly localUrl: string
  /** The URL of the HTTP+SSE endpoint for older clients, if enabled. */
  readonly sseUrl: string | undefined
  /** The URL of the WebSocket endpoint, if enabled. */
  readonly wsUrl: string | undefined
  readonly host: string
  readonly port: number
  readonly sessions: number
  /** Returns the number of refused credentials; 0 without `auth`. */
  refused(): number
  /** Applies a new configuration. */
  reload(): void
  /** Frees caches and idle sessions. Called while memory is short. */
  shed(): void
  close(): Promise<void>
}

const [MCP_PATH, SSE_PATH, MESSAGES_PATH, WS_PATH] = ENDPOINT_PATHS
/** Public paths: their answers hold no secrets. */
const HEALTH_PATHS = new Set(['/healthz', '/readyz'])

export interface EndpointContext extends ChannelContext {
  /** The active configuration. */
  readonly config: () => ProxyConfig
  /** The state folder. */
  readonly stateDir: string
  readonly status: () => ProxyStatus
  /** Pages and state for users who sign in at servers. */
  readonly connect: ConnectContext
  /** Returns the approvals of calls; undefined without rules. */
  readonly approvals: ConnectEndpointOptions['approvals']
  readonly views: Views
  /** Called with each refused request and its principal. Undefined if refusals are not audited. */
  readonly onRefused: ((refused: RefusedRequest, principal: Principal) => void) | undefined
  /** Called with each step of a sign-in. Undefined if these are not audited. */
  readonly onGrant?: OnGrantEvent | undefined
  /** Counts refusals. Undefined without metrics. */
  readonly refused: ((reason: RefusalReason) => void) | undefined
  /** Returns the metrics pages. Undefined without metrics. */
  readonly metrics: (() => Promise<MetricsPages>) | undefined
  readonly api: () => Promise<Api>
  readonly pageSessions: () => PageSessions
  /** Joins the other replicas. Undefined without a cluster. */
  readonly join: (() => Promise<JoinedCluster>) | undefined
  readonly cluster: () => ClusterStatus | undefined
  /** Restores sessions of an earlier process. Undefined with a cluster. */
  readonly seals: ReturnType<typeof sealedSessionsOf>
}

/** Serves all endpoints and pages on one port. Rejects with a Fault `unavailable` if it cannot listen. */
export const serveHttp = async (listen: ListenConfig, context: EndpointContext): Promise<HttpEndpoints> => {
  const { onRefused, bounds, refused, log, clock } = context
  const [joined, base] = [await context.join?.(), baseOf(listen, context.config())]
  const refusals = refusalsOf(context)
  const known = createCallers(listen, { ...context, replicas: joined?.replicas, refusals })
  const { entry, opened, resourceServer } = known
  const { http, sse, ws } = createListeners(listen, { ...context, joined }, (scopes, { view }) =>
    resourceServer()?.insufficientScope(endpointPath(MCP_PATH, view), scopes),
  )
  let origin = ''
  const connect = connectEndpoint(context, { origin: () => origin, resourceServer, refusals })
  const endpoints = endpointsOf(http, sse, context)
  const callers = new ViewCallers(context.views, (...all) => resourceServer()?.insufficientScope(...all))
  const other = lateModule(() =>
    otherPages(context, { ...known, basePath: base.path, connect, relay: joined?.pages, refusals }),
  )
  joined?.pages.late(other)
  const listener = await listenHttp({
    ...listen,
    ...entry,
    authorize: callers.authorizing(entry.authorize),
    open: HEALTH_PATHS,
    ...(base.path !== '' && { base }),
    isLeaving: () => context.isDraining() || joined?.cluster.isLeaving === true,
    endpoints,
    ...(ws !== undefined && { upgrade: ws.upgrade }),
    onRefused: onRefused && (denied => onRefused(denied, known.principalAt(denied.remoteAddress))),
    ...{ other, bounds, refused, log, clock },
  })
  const local = `http://${localUrlHost(listener.host)}:${listener.port}${base.path}`
  origin = await opened(local).catch(async (thrown: unknown) => {
    await listener.close()
    throw thrown
  })
  const renewal = renewalOf(resourceServer(), { views: callers, opened: [http, sse, ws, listener], clock })
  context.connect.links.opened(origin)
  return {
    ...placeOf(listener, origin, { local, sse, ws }),
    get sessions() {
      return [http, sse, ws].reduce((sum, each) => sum + (each?.sessions ?? 0), 0)
    },
    refused: () => refusals.count,
    reload() {
      known.reload()
      renewal?.reload()
    },
    shed() {
      for (const each of [http, listener]) each.shed()
    },
    async close() {
      if (context.isDraining()) await listener.leave()
      renewal?.close()
      context.connect.links.closed(origin)
      for (const part of [http, sse, connect, resourceServer()?.authServer]) part?.close()
      await ws?.close()
      await Promise.all([joined?.close(), listener.close()])
    },
  }
}

const placeOf = (
  { host, port }: HttpPort,
  base: string,
  {
    local,
    sse,
    ws,
  }: { readonly local: string; readonly sse: object | undefined; readonly ws: object | undefined },
): Pick<HttpEndpoints, 'host' | 'port' | 'url' | 'localUrl' | 'sseUrl' | 'wsUrl'> => ({
  host,
  port,
  url: base + MCP_PATH,
  localUrl: local + MCP_PATH,
  sseUrl: sse && base + SSE_PATH,
  wsUrl: ws && base.replace(/^http/, 'ws') + WS_PATH,
})

/** Returns the path below which the port serves everything; a reverse proxy may strip that of `publicUrl`. */
const baseOf = ({ path }: ListenConfig, { auth }: ProxyConfig): GateBase => ({
  path: path ?? (auth?.publicUrl === undefined ? '' : basePathOf(new URL(auth.publicUrl))),
  isStrict: path !== undefined,
})

const connectEndpoint = (
  { connect, config, onGrant, approvals, pageSessions }: EndpointContext,
  {
    origin,
    resourceServer,
    refusals,
  }: {
    readonly origin: () => string
    readonly resourceServer: () => ResourceServer | undefined
    readonly refusals: RefusedCredentials
  },
): ConnectEndpoint =>
  createConnectEndpoint({
    ...{ ...connect, origin, refusals, onEvent: onGrant, approvals },
    isUiCookie: cookie => pageSessions().isOpenFor(cookie),
    auth: () => config().auth,
    authServer: () => resourceServer()?.authServer,
  })

const createListeners = (
  listen: ListenConfig,
  { joined, ...context }: EndpointContext & { readonly joined: JoinedCluster | undefined },
  challenge: Parameters<typeof createHttpListener>[0]['challenge'],
) => {
  const replicas = { relay: joined?.cluster.relay, directory: joined?.cluster.directory }
  const http = createHttpListener({
    ...{ ...context, ...replicas },
    seals: sealsInViews(context),
    identity: IDENTITY,
    via: 'http',
    extensions: extensionsOf(context.config().auth),
    challenge,
  })
  const sse = listen.sse
    ? createSseListener({
        ...context,
        ...replicas,
        identity: IDENTITY,
        via: 'sse',
      })
    : undefined
  const ws = listen.ws ? createWsEndpoint(WS_PATH, context) : undefined
  joined?.serves(path => {
    const endpoint = endpointOf(path, () => true)
    return endpoint && relayedEndpoint(endpoint, { http, sse })
  })
  return { http, sse, ws }
}

/** Restores no session of a removed view. */
const sealsInViews = ({ seals, views }: Pick<EndpointContext, 'seals' | 'views'>): EndpointContext['seals'] =>
  seals && {
    adopt: seals.adopt,
    open: (id, caller) =>
      caller.view === undefined || views.has(caller.view) ? seals.open(id, caller) : undefined,
    end: id => seals.end(id),
  }

const otherPages = async (
  context: EndpointContext,
  parts: Pick<PagesContext, 'basePath' | 'resourceServer' | 'isStarting' | 'connect' | 'relay' | 'refusals'>,
): Promise<NodeHandler> => {
  const publicUrl = (): string | undefined => context.config().auth?.publicUrl
  return (await httpPages()).createPages({ ...context, ...parts, publicUrl })
}

const endpointsOf = (
  http: HttpListener,
  sse: SseListener | undefined,
  context: EndpointContext,
): GateOptions['endpoints'] => {
  const handlers = new Map<EndpointName | undefined, HttpHandler>()
  handlers.set(MCP_PATH, withDraining(http.handle, context))
  if (sse !== undefined) {
    handlers.set(SSE_PATH, withDraining(sse.stream, context))
    handlers.set(MESSAGES_PATH, sse.messages)
  }
  return {
    get(path) {
      const { endpoint, view } = parseEndpointPath(path) ?? {}
      return view === undefined || context.views.wasThere(view) ? handlers.get(endpoint) : undefined
    },
  }
}

/** Returns the endpoint at a path; undefined for other paths and unknown views. */
const endpointOf = (path: string, isThere: (view: string) => boolean): EndpointName | undefined => {
  const { endpoint, view } = parseEndpointPath(path) ?? {}
  return view === undefined || isThere(view) ? endpoint : undefined
}

const shuttingDown = (): Buffer =>
  encodeError(undefined, ownErrorText(RPC_CODES.internal, 'The proxy is shutting down'))

const httpPages = lateModule(() => import('./pages.js'))

/**
 * While the proxy drains, and in removed views, serves only clients with a session, which may still have
 * answers to send.
 */
const withDraining =
  (handler: HttpHandler, { isDraining, refused, views }: EndpointContext): HttpHandler =>
  (request, responder) => {
    const { view } = request.caller
    if (request.headers['mcp-session-id'] !== undefined) handler(request, responder)
    else if (isDraining()) {
      refused?.('draining')
      responder.send(503, { 'content-type': 'application/json', 'retry-after': '5' }, shuttingDown())
    } else if (view === undefined || views.has(view)) handler(request, responder)
    else responder.send(404, {})
  }

/** Advertises client authentication of programs (ext-auth, "OAuth Client Credentials"). */
const extensionsOf = (auth: AuthConfig | undefined): readonly string[] =>
  auth?.embedded === undefined || auth.embedded.clients.length === 0
    ? []
    : ['io.modelcontextprotocol/oauth-client-credentials']

const wsServer = lateModule(() => import('../../transport/ws/server.js'))

interface WsEndpoint {
  /** Takes over a connection. Rejects with a Fault `unavailable` if the module cannot be loaded. */
  readonly upgrade: UpgradeHandler
  readonly sessions: number
  renewCallers(renew: RenewCaller): void
  close(): Promise<void>
}

interface WsContext extends ChannelContext {
  readonly views: Pick<Views, 'has'>
}

/** Serves clients over WebSocket. Loads the server with the first client. @internal */
export const createWsEndpoint = (path: string, context: WsContext): WsEndpoint => {
  const listeners = new ChannelListeners(context, 'websocket')
  let server: WsServer | undefined
  let isClosing = false
  const load = async (): Promise<WsServer> => {
    const { createWsServer } = await wsServer()
    // Several first clients may arrive at the same time.
    server ??= createWsServer({
      ...context,
      serves: asked => endpointOf(asked, view => context.views.has(view)) === path,
      onChannel: (channel, caller, from) => listeners.serve(channel, caller, from),
    })
    if (isClosing) void server.close()
    return server
  }
  return {
    async upgrade(request, socket, head, caller) {
      const loaded = server ?? (await load())
      return await loaded.upgrade(request, socket, head, caller)
    },
    get sessions() {
      return listeners.size
    },
    renewCallers: renew => listeners.renewCallers(renew),
    async close() {
      isClosing = true
      await listeners.close()
      await server?.close()
    },
  }
}
