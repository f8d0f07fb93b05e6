import { openModernHttp, openModernPipe } from '../../src/eras/modern/server-side/open.js'
import type { Fault } from '../../src/kernel/faults.js'
import { type JsonText, rawText, textOf } from '../../src/kernel/json/text.js'
import type { Caller, Downlink, DownstreamCall } from '../../src/model/links.js'
import { PipeCaller } from '../../src/rpc/channel/caller.js'
import { FarEnd } from './channel-pair.js'
import { FakeClock, settled } from './fake-clock.js'
import { FakeHttp } from './fake-http.js'
import { shown } from './fake-reception.js'
import { linkOptions } from './link-options.js'
import { recordedLog } from './recorded-channel.js'

export const MODERN = '2026-07-28'
const KEY = 'io.modelcontextprotocol/'

/** What a server says of itself. */
export const discovered = (capabilities: object = { tools: {} }, more: object = {}): JsonText =>
  textOf({
    resultType: 'complete',
    supportedVersions: [MODERN],
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [`${KEY}serverInfo`]: { name: 'new', version: '2' } },
    ...more,
  })

/** The envelope of a request that a server gets. */
export const envelope = (clientCapabilities: object = {}, more: object = {}): object => ({
  [`${KEY}protocolVersion`]: MODERN,
  [`${KEY}clientInfo`]: { name: 'proxy', version: '1' },
  [`${KEY}clientCapabilities`]: clientCapabilities,
  ...more,
})

/** A key of the specification. */
export const key = (name: string): string => `${KEY}${name}`

/** What a link reports, and how it is used. */
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

/** A request through a link: all that was said about it, in order. */
export const callThrough = (
  link: Downlink,
  method: string,
  params?: object | string,
  more: { wantsProgress?: boolean; caller?: Caller } = {},
) => {
  const ends: string[] = []
  const faults: Fault[] = []
  const text = typeof params === 'string' ? rawText(params) : params && textOf(params)
  const { wantsProgress = false, caller } = more
  const down = link.call(
    { method, params: text, wantsProgress, caller },
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

/** A connection to a scripted server on a pipe. */
export const modernOnPipe = (capabilities?: object) => {
  const all = linkContext()
  const server = new FarEnd()
  const options = all.options(capabilities)
  const link = openModernPipe(listener => new PipeCaller(server.channel, listener, options), options)
  const call = (...args: Parameters<typeof callThrough> extends [unknown, ...infer R] ? R : never) =>
    callThrough(link, ...args)
  return { ...all, server, link, call }
}

/** A connection to a scripted server behind HTTP. */
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
