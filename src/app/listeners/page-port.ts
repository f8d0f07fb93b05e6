import { answerPage, isPage } from '../../control/api/page-files.js'
import { PageLogins } from '../../control/api/page-logins.js'
import { API_BASE, answerPort } from '../../control/api/port.js'
import { LOCAL } from '../../kernel/caller.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import { listenHttp } from '../../transport/http/server.js'
import type { EndpointContext } from './http.js'
import { isFromLoopback } from './pages.js'
import { refusalsOf } from './refusals.js'

export type PagePortContext = Pick<
  EndpointContext,
  'api' | 'pageSessions' | 'bounds' | 'clock' | 'log' | 'onGrant'
>

export interface PagePort {
  /** For example `http://127.0.0.1:43210`. */
  readonly origin: string
  /** Returns the number of refused credentials. */
  refused(): number
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/**
 * Serves only the page and its API on a free loopback port. Rejects with a Fault `unavailable` if it cannot
 * listen.
 */
export const openPagePort = async (context: PagePortContext): Promise<PagePort> => {
  const { bounds, clock, log } = context
  const refusals = refusalsOf(context)
  const logins = new PageLogins({ ...context, refusals })
  const listener = await listenHttp({
    ...{ host: HOST, port: 0, allowedHosts: [], allowedOrigins: [], bounds, clock, log },
    authorize: () => LOCAL,
    endpoints: new Map(),
    other: () => Promise.resolve(pageHandler(context, logins)),
  })
  const origin = `http://${HOST}:${listener.port}`
  return { origin, refused: () => refusals.count, close: () => listener.close() }
}

const pageHandler =
  ({ api, pageSessions: sessions }: PagePortContext, logins: PageLogins): NodeHandler =>
  (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const entry = { isFromHere: () => isFromLoopback(request.socket), hasToken: undefined }
    if (isPage(path)) void answerPage(request, response, entry)
    else if (path.startsWith(`${API_BASE}/`))
      void answerPort(request, response, {
        ...entry,
        api,
        sessions,
        logins,
        publicUrl: undefined,
        basePath: '',
      })
    else response.writeHead(404).end()
  }
