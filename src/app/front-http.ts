import type { ListenConfig } from '../config/types.js'
import { createHttpHost } from '../eras/index.js'
import type { Clock } from '../kernel/clock.js'
import type { Logger } from '../kernel/logger.js'
import type { Reception } from '../model/links.js'
import type { Principal } from '../model/peer.js'
import { listenHttp } from '../transport/http-server.js'
import type { HttpRequest } from '../wire/http.js'
import { LIMITS } from '../wire/limits.js'
import { IDENTITY } from './identity.js'

/** The face over HTTP. */
export interface HttpFace {
  /** The MCP endpoint, ready to be pasted into a client. */
  readonly url: string
  readonly host: string
  readonly port: number
  readonly sessions: number
  close(): Promise<void>
}

const MCP_PATH = '/mcp'

/** Serves Streamable HTTP at `/mcp`, and `/healthz`. Rejects with a Fault `unavailable` if it cannot listen. */
export const serveHttp = async (
  listen: ListenConfig,
  around: { readonly reception: Reception; readonly clock: Clock; readonly log: Logger },
): Promise<HttpFace> => {
  const host = createHttpHost({ ...around, identity: IDENTITY, principalOf })
  const listener = await listenHttp({
    ...listen,
    endpoints: new Map([[MCP_PATH, host.handle]]),
    other: async () => (await import('./http-pages.js')).createPages(),
    bodyLimitBytes: LIMITS.bodyBytes,
    log: around.log,
    clock: around.clock,
  })
  return {
    url: `http://${urlHost(listener.host)}:${listener.port}${MCP_PATH}`,
    host: listener.host,
    port: listener.port,
    get sessions() {
      return host.sessions
    },
    async close() {
      host.close()
      await listener.close()
    },
  }
}

/** Everybody on this machine is one principal; everybody else, without authentication, is another that shares nothing. */
const principalOf = ({ remoteAddress }: HttpRequest): Principal =>
  remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress) ? 'local' : `anonymous ${remoteAddress}`

/** An address as it stands in a URL a person can open: wildcards are reached by loopback. */
const urlHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
