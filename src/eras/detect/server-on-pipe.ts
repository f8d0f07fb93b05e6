import { Fault } from '../../kernel/faults.js'
import type { Downlink } from '../../model/links.js'
import { HeldEnd } from '../../rpc/channel/held-end.js'
import type { Channel } from '../../wire/channel.js'
import type { ModernServer, Visit } from '../era-cache.js'
import { openLegacyPipe, tryLegacy } from '../legacy/server-side/open.js'
import { openModernPipe } from '../modern/server-side/open.js'
import { MODERN_REVISIONS } from '../versions.js'
import { UnknownPipe } from './probe-pipe.js'
import { isModernAfterAll, isModernOnly } from './probe-verdict.js'
import {
  hasOtherWay,
  inTimeToSay,
  modernBy,
  refusesBoth,
  type ServerLinkOptions,
  wantsLegacy,
} from './server.js'

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
      const modern = this.#visit.known.modern ?? (await this.#ask(pipe))
      if (modern === false) return await this.#legacy(pipe)
      return wantsLegacy(this.#visit, this.#options)
        ? await this.#legacyOrModern(pipe, modern)
        : this.#modern(pipe, modern)
    } catch (thrown) {
      void pipe.talk.close()
      throw thrown
    }
  }

  async #pipe(): Promise<UnknownPipe> {
    return new UnknownPipe(await this.#connect(), this.#options)
  }

  async #ask(pipe: UnknownPipe): Promise<ModernServer | false> {
    const { era, identity, probeMs, timeoutMs, signal } = this.#options
    const mayFallBack = era === 'auto'
    // Where nothing else is spoken this is the handshake, for which packages may have to be installed first.
    const limitMs = mayFallBack ? Math.min(probeMs, timeoutMs) : timeoutMs
    this.#wasAsked = true
    const verdict = await pipe.ask({ identity, limitMs, mayFallBack, signal })
    if (verdict.is === 'legacy' && !mayFallBack && pipe.gone !== undefined) throw pipe.gone
    const modern = modernBy(verdict, this.#options)
    this.#visit.found({ modern })
    return modern
  }

  #modern(pipe: UnknownPipe, { discovered }: ModernServer): Downlink {
    const options = { ...this.#options, listener: this.#visit.listener, discovered }
    return openModernPipe(pipe.handTo, { ...options, hasOtherWay: hasOtherWay(this.#visit, options) })
  }

  /** The era of its clients at a server that speaks 2026-07-28: the older one, unless it has only that. */
  async #legacyOrModern(pipe: UnknownPipe, modern: ModernServer): Promise<Downlink> {
    const ears = new HeldEnd(this.#visit.listener)
    const options = { ...this.#options, listener: ears, hasOtherWay: true }
    let same = pipe
    try {
      const link = await tryLegacy(pipe.handTo, inTimeToSay(options), isModernOnly)
      this.#visit.found({ legacy: link === undefined ? false : {} })
      if (link !== undefined) {
        ears.release()
        return link
      }
    } catch (thrown) {
      const why = Fault.from(thrown)
      if (options.signal.aborted) throw why
      options.log.debug({ why: why.message }, 'the server speaks no revision with initialize')
      await pipe.talk.close()
      same = await this.#pipe()
    }
    return this.#modern(same, modern)
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
    const modern = await this.#ask(pipe)
    if (modern === false) throw refusesBoth()
    return this.#modern(pipe, modern)
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
