/** The only door to the eras: who wires the proxy asks here, and nobody else knows how an era works inside. */

export type { ServerLinkOptions } from './detect/server.js'
export { openServerPipe } from './detect/server-on-pipe.js'
export { openServerHttp } from './detect/server-over-http.js'
export { EraMemory } from './era-cache.js'
export { openLegacySse } from './legacy/server-side/open.js'
export { createHttpHost } from './listen/http-listener.js'
export { servePipe } from './listen/pipe-listener.js'
export { createSseHost } from './listen/sse-listener.js'
