import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { isClientDocument } from '../../auth/pages/client-document.js'

/** Returns the text of the document at a path, or undefined. */
export type FindDocument = (path: string) => string | undefined | Promise<string | undefined>

const METHODS = 'GET, HEAD, OPTIONS'

/**
 * Serves public JSON documents to every web page (RFC 9728 §3, RFC 8414 §3). Answers 503 if `find` rejects.
 */
export const createDocuments =
  (find: FindDocument): RequestHandler =>
  async (request: Request, response: Response, next: NextFunction) => {
    if (!request.path.startsWith('/.well-known/') && !isClientDocument(request.path)) {
      next()
      return
    }
    response.set('Access-Control-Allow-Origin', '*')
    let text: string | undefined
    try {
      text = await find(request.path)
    } catch {
      response.status(503).set('Retry-After', '10').json({ error: 'The issuer is not reachable' })
      return
    }
    if (text === undefined) next()
    else if (request.method === 'OPTIONS') {
      response.set({ 'Access-Control-Allow-Methods': METHODS, 'Access-Control-Allow-Headers': '*' })
      response.status(204).end()
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.status(405).set('Allow', METHODS).json({ error: 'Method not allowed: use GET' })
    } else {
      response.set('Cache-Control', 'max-age=300').type('application/json').send(text)
    }
  }
