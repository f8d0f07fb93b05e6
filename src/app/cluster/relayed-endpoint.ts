import type { RelayedEndpoint } from '../../cluster/cluster.js'
import type { HttpListener, SseListener } from '../../eras/index.js'
import type { HttpRequest } from '../../wire/http.js'

/** Returns the handler of requests from other replicas for an endpoint path without its view. */
export const relayedEndpoint = (
  path: string,
  { http, sse }: { readonly http: HttpListener; readonly sse: SseListener | undefined },
): RelayedEndpoint | undefined => {
  if (path !== '/messages') {
    const sessionOf = ({ headers }: HttpRequest): string | undefined => headers['mcp-session-id']
    return { serve: http.relayed, has: id => http.has(id), sessionOf }
  }
  const sessionOf = ({ query }: HttpRequest): string => query.get('sessionId') ?? ''
  return sse && { serve: sse.relayed, has: id => sse.has(id), sessionOf }
}
