import type { Views, ViewsOptions } from '../catalog/views/views.js'
import type { ProxyConfig } from '../config/types.js'
import { serverViewName } from '../kernel/server-view.js'
import { ENDPOINT_PATHS, endpointPath } from '../wire/http/endpoint-path.js'

/** Returns the configured views, and the servers that are also served alone. */
export const viewOptionsOf = ({ views, clients, servers, listen }: ProxyConfig): ViewsOptions => ({
  ...{ views, clients },
  // A lone surrogate has no percent-encoding.
  served: listen.servers !== false ? servers.flatMap(({ name }) => (/\p{Cs}/u.test(name) ? [] : [name])) : [],
})

/** Returns a lookup of the addresses at which servers are served alone, next to the main one. */
export const serverUrls =
  (views: Views, endpoints: () => readonly { readonly url?: string | undefined }[]) =>
  (name: string): string | undefined => {
    const view = serverViewName(name)
    const [main] = ENDPOINT_PATHS
    const url = endpoints().find(endpoint => endpoint.url?.endsWith(main) === true)?.url
    return url === undefined || !views.has(view)
      ? undefined
      : url.slice(0, -main.length) + endpointPath(main, view)
  }
