/** The only door to the eras: who wires the proxy asks here, and nobody else knows how an era works inside. */
export { createHttpHost } from './legacy/http-host.js'
export {
  type LinkOptions,
  openLegacyHttp,
  openLegacyPipe,
  openLegacySse,
  openLegacyUrl,
} from './legacy/open.js'
export { servePipe } from './legacy/pipe-host.js'
export { createSseHost } from './legacy/sse-host.js'
