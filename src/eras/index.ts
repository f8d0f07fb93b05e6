/** The public interface of the eras: no other layer imports any other file of this folder. */

export { statedIn } from '../rpc/http/refusal.js'
export { EraCache } from './detect/era-cache.js'
export { openServerHttp } from './detect/open-http.js'
export { openServerPipe } from './detect/open-pipe.js'
export type { ServerLinkOptions } from './detect/server.js'
export { projectLegacyResult } from './legacy/project/messages.js'
export { openLegacySse } from './legacy/server-side/open.js'
export { createHttpListener, type HttpListener } from './listen/http-listener.js'
export { servePipe } from './listen/pipe-listener.js'
export { createSseListener, type SseListener } from './listen/sse-listener.js'
