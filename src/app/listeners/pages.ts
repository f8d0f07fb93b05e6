import type { IncomingMessage } from 'node:http'
import express from 'express'
import { CALLBACK_PATH } from '../../auth/authorization-server/metadata.js'
import type { ConnectEndpoint } from '../../auth/pages/endpoint.js'
import { unknownView, type Views } from '../../catalog/views/views.js'
import type { ClusterStatus } from '../../cluster/cluster.js'
import type { Api } from '../../control/api/api.js'
import { sendJson } from '../../control/api/http.js'
import { answerPage, isPage } from '../../control/api/page-files.js'
import { PageLogins, type PageLoginsContext } from '../../control/api/page-logins.js'
import type { PageSessions } from '../../control/api/page-sessions.js'
import { API_BASE, answerPort } from '../../control/api/port.js'
import type { Caller } from '../../kernel/caller.js'
import { DEGRADED, type Pressure } from '../../kernel/limit-counters.js'
import { shortName } from '../../kernel/secrets/mask.js'
import { serverOfView } from '../../kernel/server-view.js'
import { sendMetrics } from '../../telemetry/metrics/listener.js'
import type { MetricsPages } from '../../telemetry/metrics/pages.js'
import type { ProxyStatus } from '../../telemetry/status/status.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import { isDirect } from '../../transport/http/guards.js'
import { clientAddressOf } from '../../transport/http/request.js'
import { parseEndpointPath } from '../../wire/http/endpoint-path.js'
import type { ResourceServer } from '../auth/resource-server.js'
import type { Answerer, PageRelay } from '../cluster/page-relay.js'

export interface PagesContext extends PageLoginsContext {
  readonly resourceServer: () => ResourceServer | undefined
  /** While true, only `/healthz` is served: clients could take a 404 for a missing page. */
  readonly isStarting: () => boolean
  readonly connect: ConnectEndpoint
  /** Undefined without a cluster. */
  readonly relay: PageRelay | undefined
  readonly isDraining: () => boolean
  readonly status: () => ProxyStatus
  /** Undefined without a cluster. */
  readonly cluster: () => ClusterStatus | undefined
  readonly metrics: (() => Promise<MetricsPages>) | undefined
  readonly api: () => Promise<Api>
  readonly pageSessions: () => PageSessions
  /** The public URL, if it differs from the listening address. */
  readonly publicUrl: () => string | undefined
  /** The path below which everything is served; empty for the root. */
  readonly basePath: string
  readonly views: Pick<Views, 'names'>
}

/** The level of memory pressure at which the proxy is not ready. */
const UNREADY: Pressure = 4

/** Serves the health and status pages next to the MCP endpoints. */
export const createPages = (context: PagesContext): NodeHandler => {
  const { resourceServer, connect, bounds, status, metrics } = context
  const app = express()
  app.disable('x-powered-by')
  // Unexpected errors are shown without a stack.
  app.set('env', 'production')
  app.use((_request, response, next) => {
    response.set('cache-control', 'no-store')
    next()
  })
  app.use((request, response, next) => {
    const server = resourceServer()
    if (server === undefined) next()
    else return server.documents(request, response, next)
  })
  app.get('/healthz', (_request, response) => {
    response.json({ status: bounds.pressure >= DEGRADED ? 'degraded' : 'ok' })
  })
  app.get('/readyz', (_request, response) => {
    const [code, words] = readiness(context)
    response.status(code).json(words)
  })
  app.get('/status', async (request, response) => {
    const refusal = await refuseStatus(request, resourceServer())
    if (refusal === undefined) response.json(status())
    else response.status(refusal.status).set(refusal.headers).send(refusal.body)
  })
  app.get('/metrics', async (request, response, next) => {
    const refusal = await refuseStatus(request, resourceServer(), NO_METRICS_FROM_HERE)
    if (refusal !== undefined) response.status(refusal.status).set(refusal.headers).send(refusal.body)
    else if (metrics === undefined) next()
    else await sendMetrics(await metrics(), request, response)
  })
  app.use((request, response) => {
    response
      .status(404)
      .json({ error: `Not found: ${absenceAt(request.path, isLocal(request, resourceServer()), context)}` })
  })
  const signIns = loginPages(context)
  const logins = new PageLogins(context)
  const serve: NodeHandler = (request, response) => {
    const server = resourceServer()
    const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s)
    const entry = {
      isFromHere: (asked: IncomingMessage) => isFromLoopback(peerOf(asked)) && mayBeLocal(asked, server),
      hasToken: server && ((asked: IncomingMessage) => server.adminOf(asked)),
      renew: server && ((caller: Caller) => server.renew(caller)),
    }
    if (isPage(path)) void answerPage(request, response, entry)
    else if (path.startsWith(`${API_BASE}/`))
      void answerPort(request, response, { ...entry, ...apiOf(context), logins })
    else if (connect.owns(path, query) || server?.authServer?.owns(path) === true) signIns(request, response)
    else app(request, response)
  }
  return (request, response) => {
    if (context.isStarting() && !isHealth(request)) sendJson(response, 503, STARTING, { 'retry-after': '1' })
    else serve(request, response)
  }
}

/** Explains that nothing is at a path, with details for programs of this machine. */
const absenceAt = (path: string, isHere: boolean, { views, status, basePath }: PagesContext): string => {
  const { view } = parseEndpointPath(path) ?? {}
  const server = view === undefined ? undefined : serverOfView(view)
  if (server !== undefined) return absence(server, isHere ? status() : undefined)
  const isKnowable = view !== undefined && isHere && views.names.length > 0
  return isKnowable ? unknownView(view, views.names) : `the MCP endpoint is ${basePath}/mcp`
}

/** Explains a missing server, with details for programs of this machine. */
const absence = (server: string, status: ProxyStatus | undefined): string => {
  const name = shortName(server, 64)
  if (status?.config?.disabled?.includes(server) === true) return `the server ${name} is disabled`
  const isThere = status?.servers.some(one => one.name === server) === true
  return isThere ? `listen.servers is off, or ${name} waits for variables` : `there is no server ${name}`
}

const apiOf = ({ api, pageSessions: sessions, publicUrl, basePath }: PagesContext) => ({
  ...{ api, sessions, basePath, publicUrl: publicUrl() },
})

const isHealth = ({ url = '' }: IncomingMessage): boolean => url.split('?', 1)[0] === '/healthz'

/** Serves the sign-in pages and token endpoints, here or on another replica. */
const loginPages = ({ connect, relay, resourceServer }: PagesContext): NodeHandler => {
  const handle: NodeHandler = (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s)
    if (connect.owns(path, query)) connect.handle(request, response)
    else resourceServer()?.authServer?.handle(request, response)
  }
  const answererOf = (path: string, query: string): Answerer => {
    const authServer = resourceServer()?.authServer
    if (connect.isKnown(path, query)) return 'here'
    if (path === CALLBACK_PATH) {
      const state = new URLSearchParams(query).get('state') ?? ''
      return authServer?.awaits(state) === true ? 'here' : 'holder'
    }
    if (connect.owns(path, query)) return 'holder'
    return authServer?.isDocument(path) === true ? 'here' : 'eldest'
  }
  return relay?.open({ answererOf, handle }) ?? handle
}

const readiness = ({
  isDraining,
  bounds: { pressure },
  cluster,
}: PagesContext): readonly [status: number, words: object] => {
  const { engine, state = 'ready' } = cluster() ?? {}
  if (isDraining() || state === 'draining') return [503, { status: 'draining', engine }]
  if (pressure >= UNREADY) return [503, { status: 'overloaded', engine }]
  if (state === 'fenced' || state === 'keys') return [503, { status: state, engine }]
  return [200, { status: pressure >= DEGRADED ? 'degraded' : state, engine }]
}

/** Allows local programs and tokens with the scope `mcp:admin` to read the status. */
const refuseStatus = (
  request: IncomingMessage,
  server: ResourceServer | undefined,
  refusal = NOT_FROM_HERE,
) => {
  if (isLocal(request, server)) return undefined
  return server === undefined ? refusal : server.refuseStatus(request)
}

/** With `auth`, a local reverse proxy may forward remote clients. */
const mayBeLocal = (request: IncomingMessage, server: ResourceServer | undefined): boolean =>
  server === undefined || isDirect(request)

/** Returns true for a request of a local program. */
const isLocal = (request: IncomingMessage, server: ResourceServer | undefined): boolean =>
  isFromHere(peerOf(request)) && mayBeLocal(request, server)

const STARTING = { status: 'starting', error: 'the proxy is starting' }

const forbidden = (error: string) => ({
  status: 403,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ error }),
})

const NOT_FROM_HERE = forbidden('The status is only available to local programs')
const NO_METRICS_FROM_HERE = forbidden(
  'The metrics are only available to local programs: set "metrics.listen" and "metrics.token"',
)

interface Peer {
  readonly remoteAddress?: string | undefined
  readonly localAddress?: string | undefined
}

const peerOf = (request: IncomingMessage): Peer => ({
  remoteAddress: clientAddressOf(request),
  localAddress: request.socket.localAddress,
})

/** Returns true if a peer connects from loopback. */
export const isFromLoopback = ({ remoteAddress = '' }: Peer): boolean =>
  /^(::1$|(::ffff:)?127\.)/.test(remoteAddress)

/** Returns true if a peer connects from loopback or from its destination address. */
export const isFromHere = (peer: Peer): boolean =>
  isFromLoopback(peer) || (peer.remoteAddress !== undefined && peer.remoteAddress === peer.localAddress)
