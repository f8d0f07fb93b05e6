import type { Clock } from '../../kernel/async/clock.js'
import { LOCAL } from '../../kernel/caller.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import { listenHttp } from '../../transport/http/server.js'
import type { Api } from '../api/api.js'
import { answerPage, isPage } from '../api/page-files.js'
import type { PageSessions } from '../api/page-sessions.js'
import { API_BASE, answerPort } from '../api/port.js'
import { isFromLoopback } from './pages.js'

export interface PagePortContext {
  readonly api: () => Promise<Api>
  readonly pageSessions: () => PageSessions
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
}

export interface PagePort {
  /** Such as `http://127.0.0.1:43210`. */
  readonly origin: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/**
 * Serves the page and its API on a free loopback port, and nothing else. Rejects with a Fault `unavailable` if
 * it cannot listen.
 */
export const openPagePort = async (context: PagePortContext): Promise<PagePort> => {
  const { bounds, clock, log } = context
  const { port, close } = await listenHttp({
    ...{ host: HOST, port: 0, allowedHosts: [], allowedOrigins: [], bounds, clock, log },
    authorize: () => LOCAL,
    endpoints: new Map(),
    other: () => Promise.resolve(pageHandler(context)),
  })
  return { origin: `http://${HOST}:${port}`, close }
}

const pageHandler =
  ({ api, pageSessions: sessions }: PagePortContext): NodeHandler =>
  (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const entry = { isFromHere: () => isFromLoopback(request.socket), hasToken: undefined }
    if (isPage(path)) void answerPage(request, response, entry)
    else if (path.startsWith(`${API_BASE}/`))
      void answerPort(request, response, { ...entry, api, sessions, publicOrigin: undefined })
    else response.writeHead(404).end()
  }
