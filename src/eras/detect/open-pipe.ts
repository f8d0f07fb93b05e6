import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import { EMPTY, type JsonText, textOf } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink, Downlink } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'
import { errorText, RPC_CODES } from '../../model/rpc-error.js'
import { type CallerContext, PipeCaller } from '../../rpc/channel/caller.js'
import { type Conversation, type ConversationListener, outcomeOf } from '../../rpc/channel/conversation.js'
import type { Channel } from '../../wire/channel.js'
import { openLegacyPipe, tryLegacy } from '../legacy/server-side/open.js'
import { discoverParams } from '../modern/envelope.js'
import { openModernPipe } from '../modern/server-side/open.js'
import { BufferedClose } from '../shared/buffered-close.js'
import {
  isModernAfterAll,
  isModernOnly,
  type PipeProbe,
  type ProbeVerdict,
  verdictOfPipe,
} from '../shared/probe-verdict.js'
import { MODERN_REVISIONS, type ModernRevision, methodNotFound } from '../shared/protocol.js'
import type { ConnectionAttempt, ModernServer } from './era-cache.js'
import {
  hasOtherMode,
  modernBy,
  prefersLegacy,
  probeDeclaration,
  refusesBoth,
  type ServerLinkOptions,
  withProbeTimeout,
} from './server.js'

/**
 * Opens a connection over a pipe, such as a child process; `connect` makes a new one each time. A server that
 * exits on anything but `initialize` is connected once more. Rejects with a Fault and leaves
 * nothing behind.
 */
export const openServerPipe = async (
  connect: () => Promise<Channel>,
  options: ServerLinkOptions,
): Promise<Downlink> => {
  if (options.era === 'legacy') return openLegacyPipe(await connect(), options)
  return options.eraCache.open(options, attempt => new PipeAttempt(connect, attempt, options).open())
}

/** One attempt to detect the era of a server on a pipe and to connect to it. */
class PipeAttempt {
  readonly #connect: () => Promise<Channel>
  readonly #attempt: ConnectionAttempt
  readonly #options: ServerLinkOptions
  /** True if this process was probed, which makes some old servers exit. */
  #wasAsked = false

  constructor(connect: () => Promise<Channel>, attempt: ConnectionAttempt, options: ServerLinkOptions) {
    this.#connect = connect
    this.#attempt = attempt
    this.#options = options
  }

  async open(): Promise<Downlink> {
    const pipe = await this.#pipe()
    try {
      const modern = this.#attempt.known.modern ?? (await this.#ask(pipe))
      if (modern === false) return await this.#legacy(pipe)
      return prefersLegacy(this.#attempt, this.#options)
        ? await this.#legacyOrModern(pipe, modern)
        : this.#modern(pipe, modern)
    } catch (thrown) {
      void pipe.conversation.close()
      throw thrown
    }
  }

  async #pipe(): Promise<UndetectedPipe> {
    return new UndetectedPipe(await this.#connect(), this.#options)
  }

  async #ask(pipe: UndetectedPipe): Promise<ModernServer | false> {
    this.#wasAsked = true
    const verdict = await pipe.ask(this.#options)
    if (verdict.is === 'legacy' && this.#options.era !== 'auto' && pipe.gone !== undefined) throw pipe.gone
    const modern = modernBy(verdict, this.#options)
    this.#attempt.found({ modern })
    return modern
  }

  #modern(pipe: UndetectedPipe, { discovered }: ModernServer): Downlink {
    const options = { ...this.#options, listener: this.#attempt.listener, discovered }
    return openModernPipe(pipe.handTo, { ...options, hasOtherMode: hasOtherMode(this.#attempt, options) })
  }

  /** Connects legacy clients to a modern server in their era, unless it speaks only its own. */
  async #legacyOrModern(pipe: UndetectedPipe, modern: ModernServer): Promise<Downlink> {
    const bufferedClose = new BufferedClose(this.#attempt.listener)
    const options = { ...this.#options, listener: bufferedClose, hasOtherMode: true }
    let same = pipe
    try {
      const link = await tryLegacy(pipe.handTo, withProbeTimeout(options), isModernOnly)
      this.#attempt.found({ legacy: link === undefined ? false : {} })
      if (link !== undefined) {
        bufferedClose.release()
        return link
      }
    } catch (thrown) {
      const why = Fault.from(thrown)
      if (options.signal.aborted) throw why
      options.log.debug({ why: why.message }, 'the server supports no legacy revision')
      await pipe.conversation.close()
      same = await this.#pipe()
    }
    return this.#modern(same, modern)
  }

  async #legacy(pipe: UndetectedPipe): Promise<Downlink> {
    const bufferedClose = new BufferedClose(this.#attempt.listener)
    const options = { ...this.#options, listener: bufferedClose }
    try {
      if (pipe.gone !== undefined) throw pipe.gone
      const link = await tryLegacy(pipe.handTo, options, isModernAfterAll)
      if (link !== undefined) {
        bufferedClose.release()
        return link
      }
    } catch (thrown) {
      const why = Fault.from(thrown)
      // A server that failed to start was not probed, and a rejection has another reason.
      if (!this.#wasAsked || why.code !== 'disconnected') throw why
      this.#options.log.debug({ why: why.message }, 'the server exited when it was probed')
      return await this.#again(pipe)
    }
    this.#options.log.info({}, `the server speaks ${MODERN_REVISIONS[0]} after all`)
    const modern = await this.#ask(pipe)
    if (modern === false) throw refusesBoth()
    return this.#modern(pipe, modern)
  }

  /** Reconnects to a server that probably exited because of the probe, starting with `initialize`. */
  async #again(pipe: UndetectedPipe): Promise<Downlink> {
    // Until it is gone it may hold resources that its successor needs.
    await pipe.conversation.close()
    this.#wasAsked = false
    const next = await this.#pipe()
    try {
      return await this.#legacy(next)
    } catch (thrown) {
      void next.conversation.close()
      throw thrown
    }
  }
}

/** A channel to a server of unknown era: probed first, then handed to a downlink of its era. */
class UndetectedPipe implements ConversationListener {
  readonly conversation: Conversation
  readonly #log: Logger
  readonly #clock: Clock
  #listener: ConversationListener | undefined
  #gone: Fault | undefined

  constructor(channel: Channel, options: CallerContext) {
    this.#log = options.log
    this.#clock = options.clock
    this.conversation = new PipeCaller(channel, this, options)
  }

  /** The reason why the channel is closed; undefined while it is open. */
  get gone(): Fault | undefined {
    return this.#gone
  }

  /** Hands the conversation to `listener`. */
  readonly handTo = (listener: ConversationListener): Conversation => {
    this.#listener = listener
    const gone = this.#gone
    if (gone !== undefined) queueMicrotask(() => listener.closed(gone))
    return this.conversation
  }

  /**
   * Sends the probe (2026-07-28, basic/transports/stdio, "Backward Compatibility"), before anything else:
   * some older servers exit on any other first message. Rejects with the Fault `cancelled`.
   */
  async ask(options: ServerLinkOptions): Promise<ProbeVerdict> {
    this.#listener = undefined
    const first = await this.#askOnce(MODERN_REVISIONS[0], false, options)
    return first.is === 'repeat' ? await this.#askOnce(first.revision, true, options) : first
  }

  async #askOnce(
    revision: ModernRevision,
    isRepeat: boolean,
    options: ServerLinkOptions,
  ): Promise<ProbeVerdict> {
    const { era, identity, probeMs, signal, timeoutMs } = options
    // A string, so that a late answer is never taken for one to a numbered request.
    const id = `probe-${randomId()}`
    const mayFallBack = era === 'auto'
    // Without a fallback this is the handshake, which may include the installation of packages.
    const ms = mayFallBack ? Math.min(probeMs, timeoutMs) : timeoutMs
    try {
      const params = discoverParams(revision, identity, probeDeclaration(options))
      const outcome = outcomeOf(this.conversation, id, 'server/discover', params)
      const answer = await within(outcome, { clock: this.#clock, ms, signal })
      return verdictOfPipe(probeOf(answer), { id: textOf(id), isRepeat, mayFallBack })
    } finally {
      // No `notifications/cancelled`: before `initialize` it ends sessions of the Python SDK.
      this.conversation.forget(id)
    }
  }

  // ── called by the conversation ──

  requested(id: JsonText, method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (this.#listener !== undefined) this.#listener.requested(id, method, params, about)
    else if (method === 'ping') this.conversation.sendResult(id, EMPTY)
    else this.conversation.sendError(id, methodNotFound(method))
  }

  notified(method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (this.#listener !== undefined) this.#listener.notified(method, params, about)
    else this.#log.debug({ method }, 'ignoring a notification of a server whose era is not known yet')
  }

  closed(fault: Fault): void {
    this.#gone = fault
    this.#listener?.closed(fault)
  }
}

const probeOf = (outcome: Outcome | undefined): PipeProbe => {
  switch (outcome?.kind) {
    case undefined:
      return { got: 'silence' }
    case 'result':
    case 'input':
    case 'task':
      return { got: 'result', result: outcome.result }
    case 'error':
      return { got: 'error', error: outcome.error }
    case 'fault': {
      // A malformed answer is still an answer; any other fault means that the server is gone.
      const { code, message } = outcome.fault
      return code === 'internal'
        ? { got: 'error', error: errorText(RPC_CODES.internal, message) }
        : { got: 'exit' }
    }
  }
}
