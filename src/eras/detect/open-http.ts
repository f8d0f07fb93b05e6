import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { unguessableId } from '../../kernel/ids.js'
import { type JsonText, textOf } from '../../kernel/json/text.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Downlink } from '../../model/links.js'
import { askRemote, collect, type RemoteReply, readStream } from '../../rpc/http/ask.js'
import { POST_HEADERS, type RemoteAddress } from '../../rpc/http/reply.js'
import { type Classified, classify } from '../../wire/classify.js'
import { mediaTypeOf } from '../../wire/http/headers.js'
import type { HttpClient, OutboundRequest } from '../../wire/http.js'
import { encodeRequest, idKey } from '../../wire/jsonrpc.js'
import { openLegacySse, tryLegacyUrl } from '../legacy/server-side/open.js'
import { discoverParams } from '../modern/envelope.js'
import { mirrorHeaders } from '../modern/mirror-headers.js'
import { openModernHttp } from '../modern/server-side/open.js'
import { MODERN_REVISIONS, type ModernRevision } from '../protocol.js'
import type { ConnectionAttempt, LegacyServer, ModernServer, Verdict } from './era-cache.js'
import {
  type HttpProbe,
  isModernAfterAll,
  isModernOnly,
  type ProbeVerdict,
  verdictOfHttp,
} from './probe-verdict.js'
import {
  hasOtherMode,
  modernBy,
  prefersLegacy,
  refusesBoth,
  type ServerLinkOptions,
  withProbeTimeout,
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
  return options.eraCache.open(options, visit => new HttpAttempt(http, to, visit, options).open())
}

/** One attempt to detect what a server behind a URL speaks and to connect to it. */
class HttpAttempt {
  readonly #http: HttpClient
  readonly #to: RemoteAddress
  readonly #visit: ConnectionAttempt
  readonly #options: ServerHttpOptions

  constructor(http: HttpClient, to: RemoteAddress, visit: ConnectionAttempt, options: ServerHttpOptions) {
    this.#http = http
    this.#to = to
    this.#visit = visit
    this.#options = { ...options, listener: visit.listener }
  }

  async open(): Promise<Downlink> {
    const { known } = this.#visit
    const { modern, legacy } = known.modern === undefined ? await this.#ask() : known
    if (!modern) return await this.#legacy(legacy || {})
    const older = prefersLegacy(this.#visit, this.#options) ? await this.#legacyToo(modern) : undefined
    return older ?? this.#modern(modern)
  }

  async #ask(): Promise<Verdict> {
    const { era, identity, probeMs, timeoutMs, signal, clock, bounds } = this.#options
    const limitMs = Math.min(probeMs, timeoutMs)
    const options = { identity, limitMs, mayFallBack: era === 'auto', signal, clock, bounds }
    const { verdict, url } = await probe(this.#http, this.#to, options)
    const modern = modernBy(verdict, this.#options)
    const found = modern === false ? { modern, legacy: { url } } : { modern: { ...modern, url } }
    this.#visit.found(found)
    return found
  }

  #modern({ url, discovered }: ModernServer): Downlink {
    const more = { discovered, hasOtherMode: hasOtherMode(this.#visit, this.#options) }
    return openModernHttp(this.#http, this.#at(url), { ...this.#options, ...more })
  }

  /** A session with a server that speaks 2026-07-28; undefined if it speaks nothing older. */
  async #legacyToo({ url }: ModernServer): Promise<Downlink | undefined> {
    const there = this.#at(url)
    const options = { ...withProbeTimeout(this.#options), hasOtherMode: true }
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

const FOLLOWED_MAX = 3
const METHOD = 'server/discover'
const NOTHING: HttpProbe = { got: 'nothing' }

/** What a probe needs. */
interface ProbeOptions {
  readonly identity: JsonText
  /** How long the server may take to answer. */
  readonly limitMs: number
  readonly mayFallBack: boolean
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Those of the server; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/** What a server behind a URL speaks, and where it was found after redirects. */
interface HttpFinding {
  readonly verdict: Exclude<ProbeVerdict, { is: 'follow' | 'repeat' }>
  readonly url: string
}

/**
 * Probes a URL for what its server speaks (2026-07-28, basic/transports/streamable-http, "Backward
 * Compatibility"). Rejects with a Fault if the server cannot be reached.
 */
const probe = async (http: HttpClient, to: RemoteAddress, options: ProbeOptions): Promise<HttpFinding> => {
  let { url } = to
  let revision: ModernRevision = MODERN_REVISIONS[0]
  let isRepeat = false
  for (let followed = 0; ; ) {
    const verdict = await probeOnce(http, { ...to, url }, { ...options, revision, isRepeat })
    if (verdict.is === 'repeat') {
      revision = verdict.revision
      isRepeat = true
    } else if (verdict.is !== 'follow') return { verdict, url }
    else if (followed >= FOLLOWED_MAX) {
      throw new Fault('unavailable', `The server redirects more than ${FOLLOWED_MAX} times`)
    } else {
      followed += 1
      url = verdict.url.href
    }
  }
}

interface ProbeRequest extends ProbeOptions {
  readonly revision: ModernRevision
  readonly isRepeat: boolean
}

const probeOnce = async (
  http: HttpClient,
  { url, headers }: RemoteAddress,
  {
    identity,
    limitMs,
    mayFallBack,
    signal,
    clock,
    revision,
    isRepeat,
    bounds = new LimitCounters(),
  }: ProbeRequest,
): Promise<ProbeVerdict> => {
  const id = `probe-${unguessableId()}`
  const params = discoverParams(revision, identity)
  const rules = { id: textOf(id), url: new URL(url), isRepeat, mayFallBack }
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  const probe = { isLate: false }
  const limit = clock.after(limitMs, () => {
    probe.isLate = true
    abort()
  })
  signal.addEventListener('abort', abort, { once: true })
  try {
    if (signal.aborted) abort()
    const request: OutboundRequest = {
      method: 'POST',
      url,
      headers: {
        ...headers,
        ...POST_HEADERS,
        'MCP-Protocol-Version': revision,
        ...mirrorHeaders(METHOD, params),
      },
      body: encodeRequest(id, METHOD, params),
    }
    const reply = await askRemote(http, request, stop.signal)
    const { status } = reply
    const location = locationOf(reply, url)
    const body = await bodyOf(reply, id, abort, bounds)
    return verdictOfHttp(probe.isLate ? NOTHING : { got: 'reply', status, body, location }, rules)
  } catch (thrown) {
    if (!probe.isLate) throw Fault.from(thrown)
    return verdictOfHttp(NOTHING, rules)
  } finally {
    limit.cancel()
    signal.removeEventListener('abort', abort)
  }
}

const locationOf = ({ headers }: RemoteReply, url: string): URL | undefined => {
  const { location } = headers
  return location !== undefined && URL.canParse(location, url) ? new URL(location, url) : undefined
}

/** The answer in a body; `stop` ends a stream that goes on after it. */
const bodyOf = async (
  reply: RemoteReply,
  id: string,
  stop: () => void,
  bounds: LimitCounters,
): Promise<Classified | undefined> => {
  switch (mediaTypeOf(reply.headers['content-type'])) {
    case 'application/json':
      return classify(await collect(reply, bounds))
    case 'text/event-stream':
      return await answerIn(reply, id, stop, bounds)
    default:
      reply.discard()
      return undefined
  }
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
