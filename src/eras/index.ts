/** The only door to the eras: who wires the proxy asks here, and nobody else knows how an era works inside. */

export { EraCache } from './detect/era-cache.js'
export { openServerHttp } from './detect/open-http.js'
export { openServerPipe } from './detect/open-pipe.js'
export type { ServerLinkOptions } from './detect/server.js'
export { openLegacySse } from './legacy/server-side/open.js'
export { createHttpListener } from './listen/http-listener.js'
export { servePipe } from './listen/pipe-listener.js'
export { createSseListener } from './listen/sse-listener.js'
