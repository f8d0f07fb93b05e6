import { EraCache } from '../../../src/eras/detect/era-cache.js'
import { openServerHttp } from '../../../src/eras/detect/open-http.js'
import { openServerPipe } from '../../../src/eras/detect/open-pipe.js'
import type { ServerLinkOptions } from '../../../src/eras/detect/server.js'
import { openModernHttp, openModernPipe } from '../../../src/eras/modern/server-side/open.js'
import type { Fault } from '../../../src/kernel/faults.js'
import { type JsonText, rawText, textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { Downlink, DownlinkListener, DownstreamCall, Requester } from '../../../src/model/links.js'
import { NO_CAPABILITIES } from '../../../src/model/peer.js'
import type { Greeting } from '../../../src/peers/dial.js'
import { PipeCaller } from '../../../src/rpc/channel/caller.js'
import type { Channel } from '../../../src/wire/channel.js'
import type { HttpClient } from '../../../src/wire/http.js'
import { discovered } from '../era/codec.js'
import { FakeClock, settled } from '../fake-clock.js'
import { shown } from '../values.js'
import { FarEnd, recordedLog } from '../wire/channel-pair.js'
import { FakeHttp } from '../wire/fake-http.js'

/** Returns link options with defaults for everything irrelevant to a test. */
export const linkOptions = (
  given: Partial<ServerLinkOptions> & { readonly clock: FakeClock },
): ServerLinkOptions => {
  let last = 0
  return {
    server: 's',
    listener: { requested: () => undefined, notified: () => undefined, closed: () => undefined },
    capabilities: NO_CAPABILITIES,
    clientInfo: rawText('{"name":"client","version":"1"}'),
    identity: rawText('{"name":"proxy","version":"1"}'),
    offer: '2025-11-25',
    era: 'auto',
    serverRequests: 'returned',
    probeMs: 10_000,
    timeoutMs: 60_000,
    pingMs: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    eraCache: new EraCache(given.clock),
    nextId: () => {
      last += 1
      return last
    },
    log: silentLogger,
    ...given,
  }
}

/** A server's transport. */
export type Way = { readonly pipe: () => Channel } | { readonly http: HttpClient; readonly url: string }

/** Opens a connection to a server with an unknown revision. */
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
    isAlone: greeting.isAlone,
    clientInfo: greeting.clientInfo ?? textOf({ name: 'proxy', version: '1' }),
    clock,
  })
  return 'http' in way
    ? openServerHttp(way.http, { url: way.url, headers: {} }, { ...options, hasSse: true })
    : openServerPipe(() => Promise.resolve(way.pipe()), options)
}

/** Returns a link context that records its reports. */
const linkContext = () => {
  const clock = new FakeClock()
  const { log, lines } = recordedLog()
  const heard: string[] = []
  const abouts: (DownstreamCall | undefined)[] = []
  const options = (capabilities?: object) => ({
    server: 'b',
    discovered: discovered(capabilities),
    identity: rawText('{"name":"proxy","version":"1"}'),
    listener: {
      requested: () => heard.push('asked'),
      notified: (method: string, params: JsonText | undefined, about: DownstreamCall | undefined) => {
        heard.push(`${method}${params === undefined ? '' : ` ${params.toString()}`}`)
        abouts.push(about)
      },
      closed: (fault: Fault) => heard.push(`closed ${fault.code}`),
    },
    clock,
    log,
  })
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
  }
  return { clock, lines, heard, abouts, options, pass }
}

/** Sends a request through a link; records all reports about it in order. */
export const callThrough = (
  link: Downlink,
  method: string,
  params?: object | string,
  more: { wantsProgress?: boolean; requester?: Requester } = {},
) => {
  const ends: string[] = []
  const faults: Fault[] = []
  const text = typeof params === 'string' ? rawText(params) : params && textOf(params)
  const { wantsProgress = false, requester } = more
  const down = link.call(
    { method, params: text, wantsProgress, requester },
    {
      progress: ({ params: said }) => ends.push(said.toString()),
      ended: outcome => {
        ends.push(shown(outcome))
        if (outcome.kind === 'fault') faults.push(outcome.fault)
      },
    },
  )
  return { down, ends, faults }
}

/** Opens a connection to a scripted server on a pipe. */
export const modernOnPipe = (capabilities?: object) => {
  const all = linkContext()
  const server = new FarEnd()
  const options = all.options(capabilities)
  const link = openModernPipe(listener => new PipeCaller(server.channel, listener, options), options)
  const call = (...args: Parameters<typeof callThrough> extends [unknown, ...infer R] ? R : never) =>
    callThrough(link, ...args)
  return { ...all, server, link, call }
}

/** Opens a connection to a scripted server over HTTP. */
export const modernOnHttp = (capabilities?: object) => {
  const all = linkContext()
  const http = new FakeHttp()
  const to = { url: 'https://s.example/mcp', headers: { authorization: 'Bearer x' } }
  const { nextId } = linkOptions({ clock: all.clock })
  const link = openModernHttp(http, to, { ...all.options(capabilities), nextId })
  const call = (...args: Parameters<typeof callThrough> extends [unknown, ...infer R] ? R : never) =>
    callThrough(link, ...args)
  return { ...all, http, link, call }
}
