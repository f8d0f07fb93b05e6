/** The only door to the eras: who wires the proxy asks here, and nobody else knows how an era works inside. */
export { createHttpHost } from './http-host.js'
export {
  type LinkOptions,
  openLegacyHttp,
  openLegacyPipe,
  openLegacySse,
  openLegacyUrl,
} from './legacy/open.js'
export { servePipe } from './pipe-host.js'
export { createSseHost } from './sse-host.js'
