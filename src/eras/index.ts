/** The only door to the eras: who wires the proxy asks here, and nobody else knows how an era works inside. */
export { openServerHttp } from './detect-http.js'
export { openServerPipe } from './detect-pipe.js'
export type { ServerLinkOptions } from './detect-server.js'
export { EraMemory } from './era-memory.js'
export { createHttpHost } from './http-host.js'
export { openLegacySse } from './legacy/open.js'
export { servePipe } from './pipe-host.js'
export { createSseHost } from './sse-host.js'
