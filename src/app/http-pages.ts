import express from 'express'
import type { NodeHandler } from '../transport/http-front.js'

/** What is served beside the MCP endpoint; not on the message path, so that its cost does not matter there. */
export const createPages = (): NodeHandler => {
  const app = express()
  app.disable('x-powered-by')
  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' })
  })
  app.use((_request, response) => {
    response.status(404).json({ error: 'Not found: the MCP endpoint is /mcp' })
  })
  return (request, response) => {
    app(request, response)
  }
}
