import { Fault } from '../../kernel/faults.js'
import type { Downlink } from '../../model/links.js'
import type { RemoteAddress } from '../../rpc/http/reply.js'
import type { HttpClient } from '../../wire/http.js'
import type { LegacyServer, ModernServer, Verdict, Visit } from '../era-cache.js'
import { openLegacySse, tryLegacyUrl } from '../legacy/server-side/open.js'
import { openModernHttp } from '../modern/server-side/open.js'
import { MODERN_REVISIONS } from '../versions.js'
import { askOverHttp } from './probe-http.js'
import { isModernAfterAll, isModernOnly } from './probe-verdict.js'
import {
  hasOtherWay,
  inTimeToSay,
  modernBy,
  refusesBoth,
  type ServerLinkOptions,
  wantsLegacy,
} from './server.js'

/** What it takes to open a connection over HTTP. */
export interface ServerHttpOptions extends ServerLinkOptions {
  /** Whether it may be a server of HTTP+SSE, which is tried last. */
  readonly hasSse: boolean
}

/** Opens a connection to a server behind a URL. Rejects with a Fault and leaves nothing behind. */
export const openServerHttp = async (
  http: HttpClient,
  to: RemoteAddress,
  options: ServerHttpOptions,
): Promise<Downlink> => {
  if (options.era === 'legacy') {
    const { hasSse } = options
    const remote = await tryLegacyUrl(http, to, options, { hasSse, elsewhere: () => false })
    if (remote === undefined) throw new Fault('internal', 'The handshake led nowhere')
    return remote.link
  }
  return options.memory.open(options, visit => new HttpVisit(http, to, visit, options).open())
}

/** Finds out what is behind a URL, and connects to it. */
class HttpVisit {
  readonly #http: HttpClient
  readonly #to: RemoteAddress
  readonly #visit: Visit
  readonly #options: ServerHttpOptions

  constructor(http: HttpClient, to: RemoteAddress, visit: Visit, options: ServerHttpOptions) {
    this.#http = http
    this.#to = to
    this.#visit = visit
    this.#options = { ...options, listener: visit.listener }
  }

  async open(): Promise<Downlink> {
    const { known } = this.#visit
    const { modern, legacy } = known.modern === undefined ? await this.#ask() : known
    if (!modern) return await this.#legacy(legacy || {})
    const older = wantsLegacy(this.#visit, this.#options) ? await this.#legacyToo(modern) : undefined
    return older ?? this.#modern(modern)
  }

  async #ask(): Promise<Verdict> {
    const { era, identity, probeMs, timeoutMs, signal, clock, bounds } = this.#options
    const limitMs = Math.min(probeMs, timeoutMs)
    const around = { identity, limitMs, mayFallBack: era === 'auto', signal, clock, bounds }
    const { verdict, url } = await askOverHttp(this.#http, this.#to, around)
    const modern = modernBy(verdict, this.#options)
    const found = modern === false ? { modern, legacy: { url } } : { modern: { ...modern, url } }
    this.#visit.found(found)
    return found
  }

  #modern({ url, discovered }: ModernServer): Downlink {
    const more = { discovered, hasOtherWay: hasOtherWay(this.#visit, this.#options) }
    return openModernHttp(this.#http, this.#at(url), { ...this.#options, ...more })
  }

  /** A session with a server that speaks 2026-07-28; undefined if it speaks nothing older. */
  async #legacyToo({ url }: ModernServer): Promise<Downlink | undefined> {
    const there = this.#at(url)
    const options = { ...inTimeToSay(this.#options), hasOtherWay: true }
    const ways = { hasSse: false, elsewhere: isModernOnly }
    const remote = await tryLegacyUrl(this.#http, there, options, ways)
    this.#visit.found({ legacy: remote === undefined ? false : { url: there.url } })
    return remote?.link
  }

  async #legacy({ url, via }: LegacyServer): Promise<Downlink> {
    const there = this.#at(url)
    if (via === 'sse') return await openLegacySse(this.#http, this.#to, this.#options)
    const hasSse = this.#options.hasSse && via === undefined
    const remote = await tryLegacyUrl(this.#http, there, this.#options, {
      hasSse,
      elsewhere: isModernAfterAll,
    })
    if (remote !== undefined) {
      this.#visit.found({ legacy: { url: there.url, via: remote.via } })
      return remote.link
    }
    this.#options.log.info({}, `the server speaks ${MODERN_REVISIONS[0]} after all`)
    const { modern } = await this.#ask()
    if (modern) return this.#modern(modern)
    throw refusesBoth()
  }

  /** The server, at where it has moved to. */
  #at(url = this.#to.url): RemoteAddress {
    return { ...this.#to, url }
  }
}
