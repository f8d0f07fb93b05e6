import { Fault } from '../kernel/faults.js'
import { type JsonText, textMember } from '../kernel/json-text.js'
import type { Downlink } from '../model/links.js'
import { HeldEnd } from '../rpc/held-end.js'
import { type RemoteAddress, statusFault } from '../rpc/http-reply.js'
import type { Channel } from '../wire/channel.js'
import type { HttpClient } from '../wire/http.js'
import type { EraMemory, Found, Visit } from './era-memory.js'
import { type LinkOptions, openLegacyPipe, openLegacySse, tryLegacy, tryLegacyUrl } from './legacy/open.js'
import { openModernHttp, openModernPipe } from './modern/open.js'
import { askOverHttp } from './probe-http.js'
import { UnknownPipe } from './probe-pipe.js'
import { isModernAfterAll, type ProbeVerdict } from './probe-verdict.js'
import { MODERN_REVISIONS } from './versions.js'

/** What a server may be taken for: whatever it turns out to be, or one era for sure. */
export type Era = 'auto' | 'modern' | 'legacy'

/** What it takes to open a connection to a server of which it need not be known what it speaks. */
export interface ServerLinkOptions extends LinkOptions {
  readonly era: Era
  /** Our own `Implementation` object. */
  readonly identity: JsonText
  /** How long a server may take to say what it speaks before it is taken for an old one. */
  readonly probeMs: number
  /** What was found out about this server before. */
  readonly memory: EraMemory
  /** Ids for requests that belong to no session: no two of them may have the same at one server. */
  readonly nextId: () => number
}

// ── over a pipe ──────────────────────────────────────────────────────────────────────────────────────────

/**
 * Opens a connection over a pipe, such as that of a child process; `connect` makes a new one each time. A server that ends
 * because it was asked something else than `initialize` first is connected once more. Rejects with a Fault and leaves
 * nothing behind.
 */
export const openServerPipe = async (
  connect: () => Promise<Channel>,
  options: ServerLinkOptions,
): Promise<Downlink> => {
  if (options.era === 'legacy') return openLegacyPipe(await connect(), options)
  return options.memory.open(options, visit => new PipeVisit(connect, visit, options).open())
}

/** Finds out what is at the other end of a pipe, and connects to it. */
class PipeVisit {
  readonly #connect: () => Promise<Channel>
  readonly #visit: Visit
  readonly #options: ServerLinkOptions
  /** Whether the process that runs has been asked something that an old one may have ended at. */
  #wasAsked = false

  constructor(connect: () => Promise<Channel>, visit: Visit, options: ServerLinkOptions) {
    this.#connect = connect
    this.#visit = visit
    this.#options = options
  }

  async open(): Promise<Downlink> {
    const pipe = await this.#pipe()
    try {
      const found = this.#visit.known ?? (await this.#ask(pipe))
      return found.era === 'modern' ? this.#modern(pipe, found.discovered) : await this.#legacy(pipe)
    } catch (thrown) {
      void pipe.talk.close()
      throw thrown
    }
  }

  async #pipe(): Promise<UnknownPipe> {
    return new UnknownPipe(await this.#connect(), this.#options)
  }

  async #ask(pipe: UnknownPipe): Promise<Found> {
    const { era, identity, probeMs, timeoutMs, signal } = this.#options
    const mayFallBack = era === 'auto'
    // Where nothing else is spoken this is the handshake, for which packages may have to be installed first.
    const limitMs = mayFallBack ? Math.min(probeMs, timeoutMs) : timeoutMs
    this.#wasAsked = true
    const verdict = await pipe.ask({ identity, limitMs, mayFallBack, signal })
    if (verdict.is === 'legacy' && !mayFallBack && pipe.gone !== undefined) throw pipe.gone
    const found = foundBy(verdict, this.#options)
    this.#visit.found(found)
    return found
  }

  #modern(pipe: UnknownPipe, discovered: JsonText): Downlink {
    return openModernPipe(pipe.handTo, { ...this.#options, listener: this.#visit.listener, discovered })
  }

  async #legacy(pipe: UnknownPipe): Promise<Downlink> {
    const ears = new HeldEnd(this.#visit.listener)
    const options = { ...this.#options, listener: ears }
    try {
      if (pipe.gone !== undefined) throw pipe.gone
      const link = await tryLegacy(pipe.handTo, options, isModernAfterAll)
      if (link !== undefined) {
        ears.release()
        return link
      }
    } catch (thrown) {
      const why = Fault.from(thrown)
      // One that could not be started was not asked anything, and one that refuses has another reason.
      if (!this.#wasAsked || why.code !== 'disconnected') throw why
      this.#options.log.debug({ why: why.message }, 'the server ended when it was asked what it speaks')
      return await this.#again(pipe)
    }
    this.#options.log.info({}, `the server speaks ${MODERN_REVISIONS[0]} after all`)
    const found = await this.#ask(pipe)
    if (found.era === 'legacy')
      throw new Fault('unavailable', 'The server refuses both to initialize and to be asked')
    return this.#modern(pipe, found.discovered)
  }

  /** It has ended, most likely because of what it was asked: this time with nothing before `initialize`. */
  async #again(pipe: UnknownPipe): Promise<Downlink> {
    // Until it is gone it may hold on to what it needs when it starts.
    await pipe.talk.close()
    this.#wasAsked = false
    const next = await this.#pipe()
    try {
      return await this.#legacy(next)
    } catch (thrown) {
      void next.talk.close()
      throw thrown
    }
  }
}

// ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Opens a connection to a server behind a URL; `hasSse` says whether it may be one of HTTP+SSE, which is tried last. Rejects
 * with a Fault and leaves nothing behind.
 */
export const openServerHttp = async (
  http: HttpClient,
  to: RemoteAddress,
  { hasSse, ...options }: ServerLinkOptions & { readonly hasSse: boolean },
): Promise<Downlink> => {
  if (options.era === 'legacy') {
    const remote = await tryLegacyUrl(http, to, options, { hasSse, elsewhere: () => false })
    if (remote === undefined) throw new Fault('internal', 'The handshake led nowhere')
    return remote.link
  }
  return options.memory.open(options, visit => openVisited(http, to, visit, { ...options, hasSse }))
}

const openVisited = async (
  http: HttpClient,
  to: RemoteAddress,
  visit: Visit,
  around: ServerLinkOptions & { readonly hasSse: boolean },
): Promise<Downlink> => {
  const options = { ...around, listener: visit.listener }
  const modern = ({ url, discovered }: Extract<Found, { era: 'modern' }>): Downlink =>
    openModernHttp(http, { ...to, url: url ?? to.url }, { ...options, discovered })
  const ask = async (): Promise<Found> => {
    const found = await foundAt(http, to, options)
    visit.found(found)
    return found
  }
  const found = visit.known ?? (await ask())
  if (found.era === 'modern') return modern(found)
  if (found.via === 'sse') return await openLegacySse(http, to, options)
  const there = { ...to, url: found.url ?? to.url }
  const remote = await tryLegacyUrl(http, there, options, {
    hasSse: around.hasSse && found.via === undefined,
    elsewhere: isModernAfterAll,
  })
  if (remote !== undefined) {
    visit.found(found.via === undefined ? { ...found, via: remote.via } : found)
    return remote.link
  }
  options.log.info({}, `the server speaks ${MODERN_REVISIONS[0]} after all`)
  const other = await ask()
  if (other.era === 'modern') return modern(other)
  throw new Fault('unavailable', 'The server refuses both to initialize and to be asked')
}

const foundAt = async (http: HttpClient, to: RemoteAddress, options: ServerLinkOptions): Promise<Found> => {
  const { era, identity, probeMs, timeoutMs, signal, clock, bounds } = options
  const limitMs = Math.min(probeMs, timeoutMs)
  const around = { identity, limitMs, mayFallBack: era === 'auto', signal, clock, bounds }
  const { verdict, url } = await askOverHttp(http, to, around)
  return { ...foundBy(verdict, options), url }
}

// ── both ─────────────────────────────────────────────────────────────────────────────────────────────────

/** What a verdict says about a server. Throws the Fault of one that says nothing, or that it cannot be talked to. */
const foundBy = (verdict: ProbeVerdict, { era }: ServerLinkOptions): Found => {
  switch (verdict.is) {
    case 'modern':
      return { era: 'modern', discovered: verdict.discovered }
    case 'legacy':
      if (era === 'auto') return { era: 'legacy' }
      throw new Fault(
        'unavailable',
        `The server does not speak ${MODERN_REVISIONS[0]}, and nothing else is to be spoken to it: check "era"`,
      )
    case 'modern-refused': {
      const words = textMember(verdict.error, 'message') ?? 'no reason given'
      throw new Fault('unavailable', `The server refused server/discover: ${words}`)
    }
    case 'incompatible':
      throw new Fault(
        'unavailable',
        `The server speaks nothing that we speak, but ${listed(verdict.versions)}`,
      )
    case 'auth':
      throw statusFault(verdict.status)
    case 'unreachable': {
      const { status, why } = verdict
      const words = `The server did not say what it speaks: ${why}`
      if (status === undefined)
        throw new Fault('timeout', `${words}; if it is an older one, say so with "era"`)
      throw new Fault('unavailable', words, { data: { httpStatus: status } })
    }
    case 'repeat':
    case 'follow':
      throw new Fault('internal', 'The search for what the server speaks was not ended')
  }
}

const SHOWN_VERSIONS = 5
const SHOWN_LENGTH = 32

const listed = (versions: readonly string[]): string =>
  versions
    .slice(0, SHOWN_VERSIONS)
    .map(version => version.slice(0, SHOWN_LENGTH))
    .join(', ') || 'no version at all'
