/** The only door to the eras: who wires the proxy asks here, and nobody else knows how an era works inside. */

export type { ServerLinkOptions } from './detect/server.js'
export { openServerPipe } from './detect/server-on-pipe.js'
export { openServerHttp } from './detect/server-over-http.js'
export { EraCache } from './era-cache.js'
export { openLegacySse } from './legacy/server-side/open.js'
export { createHttpListener } from './listen/http-listener.js'
export { servePipe } from './listen/pipe-listener.js'
export { createSseListener } from './listen/sse-listener.js'
