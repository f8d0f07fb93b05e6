import express from 'express'
import type { LimitCounters, Pressure } from '../../kernel/limit-counters.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import type { ProxyStatus } from '../status.js'

/** What the pages tell about. */
export interface PagesContext {
  readonly isDraining: () => boolean
  readonly bounds: Pick<LimitCounters, 'pressure'>
  readonly status: () => ProxyStatus
}

/** How short memory must be for us to say so, and for us to serve nobody new. */
const DEGRADED: Pressure = 2
const UNREADY: Pressure = 4

/** What is served beside the MCP endpoint; not on the message path, so that its cost does not matter there. */
export const createPages = ({ isDraining, bounds, status }: PagesContext): NodeHandler => {
  const app = express()
  app.disable('x-powered-by')
  // An error that nobody foresaw is told without its stack.
  app.set('env', 'production')
  app.use((_request, response, next) => {
    response.set('cache-control', 'no-store')
    next()
  })
  app.get('/healthz', (_request, response) => {
    response.json({ status: bounds.pressure >= DEGRADED ? 'degraded' : 'ok' })
  })
  app.get('/readyz', (_request, response) => {
    if (isDraining()) response.status(503).json({ status: 'draining' })
    else if (bounds.pressure >= UNREADY) response.status(503).json({ status: 'overloaded' })
    else response.json({ status: bounds.pressure >= DEGRADED ? 'degraded' : 'ready' })
  })
  app.get('/status', (request, response) => {
    if (isFromHere(request.socket)) response.json(status())
    else response.status(403).json({ error: 'The status is told to programs of the same machine only' })
  })
  app.use((_request, response) => {
    response.status(404).json({ error: 'Not found: the MCP endpoint is /mcp' })
  })
  return (request, response) => {
    app(request, response)
  }
}

/** The two ends of a connection. */
interface Peer {
  readonly remoteAddress?: string | undefined
  readonly localAddress?: string | undefined
}

/** Whoever reaches an address of this machine from the same address is on it. */
export const isFromHere = ({ remoteAddress, localAddress }: Peer): boolean =>
  remoteAddress !== undefined &&
  (remoteAddress === localAddress || /^(::1$|(::ffff:)?127\.)/.test(remoteAddress))
