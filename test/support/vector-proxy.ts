import { openServerHttp } from '../../src/eras/detect/open-http.js'
import { openServerPipe } from '../../src/eras/detect/open-pipe.js'
import { createHttpListener } from '../../src/eras/listen/http-listener.js'
import { servePipe } from '../../src/eras/listen/pipe-listener.js'
import { createSseListener } from '../../src/eras/listen/sse-listener.js'
import { textOf } from '../../src/kernel/json/text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import type { ClientHandler, Downlink, DownlinkListener } from '../../src/model/links.js'
import { Router } from '../../src/mux/router.js'
import type { Dial, Greeting } from '../../src/peers/dial.js'
import type { Channel } from '../../src/wire/channel.js'
import type { HttpClient } from '../../src/wire/http.js'
import type { FakeClock } from './fake-clock.js'
import { IDENTITY } from './fake-reception.js'
import { linkOptions } from './link-options.js'
import { SHOWN, testSealer } from './mux.js'

// The proxy of the vectors: the real one without its transports, wired as src/app does it.

/** The mux in front of servers with these aliases; their URIs are not renamed, as the vectors have it. */
export const createMux = (
  aliases: readonly string[],
  { dial, clock, isIsolated }: { dial: Dial; clock: FakeClock; isIsolated: boolean },
): Router =>
  new Router({
    servers: aliases.map(alias => ({
      name: alias,
      alias,
      sharing: isIsolated ? 'session' : 'principal',
      isProcess: false,
      limits: {},
      start: 'lazy',
      replay: false,
      serialize: false,
      restart: { firstMs: 500, maxMs: 30_000, failures: 5, windowMs: 60_000, retryMs: 60_000 },
      idleStopMs: 15 * 60_000,
      timeouts: { connectMs: 60_000, listMs: 30_000, callMs: 300_000, totalMs: 3_600_000 },
    })),
    showingOf: () => ({ ...SHOWN, uris: 'preserve' }),
    isAlone: false,
    dial,
    clock,
    log: silentLogger,
    sealer: testSealer(clock),
    pageSize: 100,
    startupWaitMs: 5000,
    listWaitMs: 3000,
  })

const listenerContext = (reception: ClientHandler, clock: FakeClock) => ({
  reception,
  clock,
  identity: IDENTITY,
  log: silentLogger,
})

/** Serves a client on a channel. */
export const servePipeClient = (reception: ClientHandler, clock: FakeClock, channel: Channel): void => {
  servePipe(channel, 'local', listenerContext(reception, clock))
}

/** The endpoint of Streamable HTTP. */
export const serveHttpClients = (
  reception: ClientHandler,
  clock: FakeClock,
  principalOf: (request: { readonly remoteAddress: string }) => string = () => 'local',
) => createHttpListener({ ...listenerContext(reception, clock), principalOf })

/** The endpoints of HTTP+SSE. */
export const serveSseClients = (reception: ClientHandler, clock: FakeClock) =>
  createSseListener({ ...listenerContext(reception, clock), principalOf: () => 'local', messagesPath: '/messages' })

/** How a server is reached. */
export type Way = { readonly pipe: () => Channel } | { readonly http: HttpClient; readonly url: string }

/** Opens a connection to a server of which only its way is known. */
export const openServer = (
  server: string,
  way: Way,
  clock: FakeClock,
  greeting: Greeting,
  listener: DownlinkListener,
  signal: AbortSignal,
): Promise<Downlink> => {
  const options = linkOptions({
    server,
    listener,
    signal,
    serverRequests: greeting.serverRequests,
    capabilities: greeting.capabilities,
    clientInfo: greeting.clientInfo ?? textOf({ name: 'proxy', version: '1' }),
    clock,
  })
  return 'http' in way
    ? openServerHttp(way.http, { url: way.url, headers: {} }, { ...options, hasSse: true })
    : openServerPipe(() => Promise.resolve(way.pipe()), options)
}
