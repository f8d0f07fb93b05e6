import express from 'express'
import type { LimitCounters, Pressure } from '../../kernel/limit-counters.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import type { ProxyStatus } from '../status.js'

export interface PagesContext {
  readonly isDraining: () => boolean
  readonly bounds: Pick<LimitCounters, 'pressure'>
  readonly status: () => ProxyStatus
}

/** The levels of memory pressure at which health is degraded, and at which the proxy is not ready. */
const DEGRADED: Pressure = 2
const UNREADY: Pressure = 4

/** Serves health and status pages beside the MCP endpoints. */
export const createPages = ({ isDraining, bounds, status }: PagesContext): NodeHandler => {
  const app = express()
  app.disable('x-powered-by')
  // Unexpected errors are shown without their stack.
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

interface Peer {
  readonly remoteAddress?: string | undefined
  readonly localAddress?: string | undefined
}

/** Whether a peer connects from loopback, or from the very address it connects to. */
export const isFromHere = ({ remoteAddress, localAddress }: Peer): boolean =>
  remoteAddress !== undefined &&
  (remoteAddress === localAddress || /^(::1$|(::ffff:)?127\.)/.test(remoteAddress))
