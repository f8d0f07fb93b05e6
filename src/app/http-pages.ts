import express from 'express'
import type { NodeHandler } from '../transport/http-front.js'

/** What is served beside the MCP endpoint; not on the message path, so that its cost does not matter there. */
export const createPages = ({ isDraining }: { readonly isDraining: () => boolean }): NodeHandler => {
  const app = express()
  app.disable('x-powered-by')
  app.use((_request, response, next) => {
    response.set('cache-control', 'no-store')
    next()
  })
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' })
  })
  app.get('/readyz', (_request, response) => {
    if (isDraining()) response.status(503).json({ status: 'draining' })
    else response.json({ status: 'ready' })
  })
  app.use((_request, response) => {
    response.status(404).json({ error: 'Not found: the MCP endpoint is /mcp' })
  })
  return (request, response) => {
    app(request, response)
  }
}
