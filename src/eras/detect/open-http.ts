import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import { textOf } from '../../kernel/json/text.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Downlink } from '../../model/links.js'
import { collect, fetchReply, type RemoteReply, readStream } from '../../rpc/http/fetch-reply.js'
import { readRefusal, refusalOf, statedIn } from '../../rpc/http/refusal.js'
import { POST_HEADERS, type RemoteAddress } from '../../rpc/http/reply.js'
import { type Classified, classify } from '../../wire/classify.js'
import { isJsonType, mediaTypeOf } from '../../wire/http/headers.js'
import type { HttpClient, OutboundRequest } from '../../wire/http.js'
import { encodeRequest, idKey } from '../../wire/jsonrpc.js'
import { openLegacySse, resumeLegacyUrl, tryLegacyUrl } from '../legacy/server-side/open.js'
import { discoverParams } from '../modern/envelope.js'
import { mirrorHeaders } from '../modern/mirror-headers.js'
import { openModernHttp } from '../modern/server-side/open.js'
import {
  type HttpProbe,
  isModernAfterAll,
  isModernOnly,
  type ProbeVerdict,
  verdictOfHttp,
} from '../shared/probe-verdict.js'
import { MODERN_REVISIONS, type ModernRevision } from '../shared/protocol.js'
import type { ConnectionAttempt, EraVerdict, LegacyServer, ModernServer } from './era-cache.js'
import {
  hasOtherMode,
  modernBy,
  prefersLegacy,
  probeDeclaration,
  refusesBoth,
  type ServerLinkOptions,
  withProbeTimeout,
} from './server.js'

export interface ServerHttpOptions extends ServerLinkOptions {
  /** True if to try HTTP+SSE, as the last resort. */
  readonly hasSse: boolean
}

/** Opens a connection to a server behind a URL. Rejects with a Fault and leaves nothing behind. */
export const openServerHttp = async (
  http: HttpClient,
  to: RemoteAddress,
  options: ServerHttpOptions,
): Promise<Downlink> => {
  const resumed = options.era === 'modern' ? undefined : await resumeLegacyUrl(http, to, options)
  if (resumed !== undefined) return resumed
  if (options.era === 'legacy') {
    const { hasSse } = options
    const remote = await tryLegacyUrl(http, to, options, { hasSse, elsewhere: () => false })
    if (remote === undefined) throw new Fault('internal', 'The handshake led nowhere')
    return remote.link
  }
  return options.eraCache.open(options, attempt => new HttpAttempt(http, to, attempt, options).open())
}

/** One attempt to detect the era of a server behind a URL and to connect to it. */
class HttpAttempt {
  readonly #http: HttpClient
  readonly #to: RemoteAddress
  readonly #attempt: ConnectionAttempt
  readonly #options: ServerHttpOptions

  constructor(http: HttpClient, to: RemoteAddress, attempt: ConnectionAttempt, options: ServerHttpOptions) {
    this.#http = http
    this.#to = to
    this.#attempt = attempt
    this.#options = { ...options, listener: attempt.listener }
  }

  async open(): Promise<Downlink> {
    const { known } = this.#attempt
    const { modern, legacy } = known.modern === undefined ? await this.#ask() : known
    if (!modern) return await this.#legacy(legacy || {})
    const older = prefersLegacy(this.#attempt, this.#options) ? await this.#legacyToo(modern) : undefined
    return older ?? this.#modern(modern)
  }

  async #ask(): Promise<EraVerdict> {
    const { verdict, url } = await probe(this.#http, this.#to, this.#options)
    const modern = modernBy(verdict, this.#options)
    const found = modern === false ? { modern, legacy: { url } } : { modern: { ...modern, url } }
    this.#attempt.found(found)
    return found
  }

  #modern({ url, discovered }: ModernServer): Downlink {
    const more = { discovered, hasOtherMode: hasOtherMode(this.#attempt, this.#options) }
    return openModernHttp(this.#http, this.#at(url), { ...this.#options, ...more })
  }

  /** A session with a modern server; undefined if it speaks nothing older. */
  async #legacyToo({ url }: ModernServer): Promise<Downlink | undefined> {
    const there = this.#at(url)
    const options = { ...withProbeTimeout(this.#options), hasOtherMode: true }
    const ways = { hasSse: false, elsewhere: isModernOnly }
    const remote = await tryLegacyUrl(this.#http, there, options, ways)
    this.#attempt.found({ legacy: remote === undefined ? false : { url: there.url } })
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
      this.#attempt.found({ legacy: { url: there.url, via: remote.via } })
      return remote.link
    }
    this.#options.log.info({}, `the server speaks ${MODERN_REVISIONS[0]} after all`)
    const { modern } = await this.#ask()
    if (modern) return this.#modern(modern)
    throw refusesBoth()
  }

  /** The server's address, after redirects. */
  #at(url = this.#to.url): RemoteAddress {
    return { ...this.#to, url }
  }
}

const FOLLOWED_MAX = 3
const METHOD = 'server/discover'

/** The era of a server, and its URL after redirects. */
interface HttpFinding {
  readonly verdict: Exclude<ProbeVerdict, { is: 'follow' | 'repeat' }>
  readonly url: string
}

/**
 * Detects the era of the server at a URL (2026-07-28, basic/transports/streamable-http, "Backward
 * Compatibility"). Rejects with a Fault if the server cannot be reached.
 */
const probe = async (
  http: HttpClient,
  to: RemoteAddress,
  options: ServerLinkOptions,
): Promise<HttpFinding> => {
  let { url } = to
  let version: ProbeVersion = { revision: MODERN_REVISIONS[0], isRepeat: false }
  for (let followed = 0; ; ) {
    const verdict = await probeOnce(http, { ...to, url }, version, options)
    if (verdict.is === 'repeat') version = { revision: verdict.revision, isRepeat: true }
    else if (verdict.is !== 'follow') return { verdict, url }
    else if (followed >= FOLLOWED_MAX) {
      throw new Fault('unavailable', `The server redirects more than ${FOLLOWED_MAX} times`)
    } else {
      followed += 1
      url = verdict.url.href
    }
  }
}

interface ProbeVersion {
  readonly revision: ModernRevision
  readonly isRepeat: boolean
}

const probeOnce = async (
  http: HttpClient,
  { url, headers }: RemoteAddress,
  { revision, isRepeat }: ProbeVersion,
  options: ServerLinkOptions,
): Promise<ProbeVerdict> => {
  const { bounds = new LimitCounters(), clock, era, identity, probeMs, signal, timeoutMs } = options
  const id = `probe-${randomId()}`
  const params = discoverParams(revision, identity, probeDeclaration(options))
  const version = { 'MCP-Protocol-Version': revision, ...mirrorHeaders(METHOD, params) }
  const request: OutboundRequest = {
    method: 'POST',
    url,
    headers: { ...headers, ...POST_HEADERS, ...version },
    body: encodeRequest(id, METHOD, params),
  }
  const stop = new AbortController()
  if (signal.aborted) stop.abort()
  const ask = async (): Promise<HttpProbe> => {
    const reply = await fetchReply(http, request, stop.signal)
    const { status } = reply
    if (status >= 400) return await refusedProbe(reply, bounds, clock)
    const body = await bodyOf(reply, id, () => stop.abort(), bounds)
    return { got: 'reply', status, body, location: locationOf(reply, url) }
  }
  try {
    const probe = await within(ask(), { clock, ms: Math.min(probeMs, timeoutMs), signal })
    const rules = { id: textOf(id), url: new URL(url), isRepeat, mayFallBack: era === 'auto' }
    return verdictOfHttp(probe ?? { got: 'nothing' }, rules)
  } finally {
    stop.abort()
  }
}

const locationOf = ({ headers }: RemoteReply, url: string): URL | undefined => {
  const { location } = headers
  return location !== undefined && URL.canParse(location, url) ? new URL(location, url) : undefined
}

/** Reads an HTTP error, which may hold a JSON-RPC error or another reason. */
const refusedProbe = async (
  reply: RemoteReply,
  bounds: LimitCounters,
  clock: Pick<Clock, 'after'>,
): Promise<HttpProbe> => {
  const { status } = reply
  if (!isJsonType(mediaTypeOf(reply.headers['content-type'])))
    return { got: 'reply', status, body: undefined, stated: statedIn(await readRefusal(reply, clock)) }
  const body = await collect(reply, bounds)
  return { got: 'reply', status, body: classify(body), stated: statedIn(refusalOf(reply, body)) }
}

/** Reads the answer from a body; `stop` ends a stream that continues after it. */
const bodyOf = async (
  reply: RemoteReply,
  id: string,
  stop: () => void,
  bounds: LimitCounters,
): Promise<Classified | undefined> => {
  const type = mediaTypeOf(reply.headers['content-type'])
  if (isJsonType(type)) return classify(await collect(reply, bounds))
  if (type === 'text/event-stream') return await answerIn(reply, id, stop, bounds)
  reply.discard()
  return undefined
}

const answerIn = async (
  reply: RemoteReply,
  id: string,
  stop: () => void,
  bounds: LimitCounters,
): Promise<Classified | undefined> => {
  const key = idKey(textOf(id))
  let answer: Classified | undefined
  await readStream(
    reply,
    {
      message: data => {
        const classified = classify(data)
        if (classified.is !== 'message') return
        const { message } = classified
        const isAnswer = message.kind === 'result' || message.kind === 'error'
        if (isAnswer && message.id !== undefined && idKey(message.id) === key) answer ??= classified
      },
      read: () => {
        if (answer !== undefined) stop()
      },
      skipped: () => undefined,
    },
    bounds,
  )
  return answer
}
