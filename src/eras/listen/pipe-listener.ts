import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { type Caller, hasEnded, type RenewCaller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { NO_BYTES } from '../../kernel/nothing.js'
import type { Arrival } from '../../model/links.js'
import { faultText, ownErrorText } from '../../model/rpc-error.js'
import { type ListenerOptions, REVOKED } from '../../rpc/host.js'
import { type Channel, type ChannelListener, guarded } from '../../wire/channel.js'
import type { Classified } from '../../wire/classify.js'
import { isSdkRequest } from '../../wire/fast-path.js'
import { encodeError, idKey, type Message } from '../../wire/jsonrpc.js'
import { salvageId } from '../../wire/salvage-id.js'
import { classifyInbound, eraOf, type ServedEras } from '../detect/inbound.js'
import { batchError, idOf, runBatch } from '../legacy/client-side/batch.js'
import { LegacyUplink } from '../legacy/client-side/uplink.js'
import { CANCELLED, ModernUplink } from '../modern/client-side/uplink.js'
import { PipeWriter } from './pipe-writer.js'

/** Additional options for serving a channel. */
export interface PipeListenerOptions extends ListenerOptions {
  readonly speaks?: ServedEras
  /** The time for calls in flight after the client has closed its input; 0 if absent. */
  readonly drainMs?: () => number
  /** The client's network origin. */
  readonly arrival?: Omit<Arrival, 'headers'> | undefined
  /** As `WriterOptions.idPrefix`. */
  readonly idPrefix?: string
}

/** The interval of checks whether a client that has closed its input still waits for answers. */
const CHECK_MS = 20
/** The interval of checks whether the credential of a connection has expired. */
const EXPIRY_CHECK_MS = 5000
/** The time that calls may still take after that. */
const EXPIRED_MS = 55_000

/**
 * One client on a channel of its own: stdio, a WebSocket, a socket. The era is detected per message, because
 * a client that probes with `server/discover` may still `initialize`.
 */
export class PipeListener implements ChannelListener {
  readonly #channel: Channel
  readonly #writer: PipeWriter
  #caller: Caller
  readonly #legacy: LegacyUplink
  readonly #modern: ModernUplink
  readonly #speaks: ServedEras
  readonly #bounds: LimitCounters
  readonly #log: Logger
  readonly #clock: Clock
  readonly #drainMs: () => number
  readonly #refused: ListenerOptions['refused']
  /** Runs if the credential of the connection expires. */
  readonly #expiry: Timer | undefined
  /** Runs while a client that has closed its input waits for answers. */
  #leaving: Timer | undefined
  readonly #gone = new Deferred<Fault | undefined>()

  constructor(channel: Channel, caller: Caller, options: PipeListenerOptions) {
    this.#channel = channel
    this.#caller = caller
    this.#log = options.log
    this.#clock = options.clock
    this.#drainMs = options.drainMs ?? (() => 0)
    this.#speaks = options.speaks ?? 'both'
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#refused = options.refused
    this.#writer = new PipeWriter(channel, { ...options, bounds: this.#bounds })
    this.#legacy = new LegacyUplink(caller, this.#writer, options)
    this.#modern = new ModernUplink(options, 'channel')
    if (caller.endsMs < Number.POSITIVE_INFINITY)
      this.#expiry = options.clock.every(EXPIRY_CHECK_MS, () => this.#expire())
    channel.listen(
      guarded(this, thrown => {
        this.#log.error(
          { err: thrown },
          'a message of a client could not be handled; its connection is closed',
        )
        void this.close('an internal error')
      }),
    )
  }

  /** Resolves when the client is gone and cleaned up; to a fault, unless it left in order. */
  get gone(): Promise<Fault | undefined> {
    return this.#gone.promise
  }

  /** The client's requests in flight. */
  get openCalls(): number {
    return this.#legacy.openCalls + this.#modern.openCalls
  }

  /** The folder that the client works in, if known. */
  get workspace(): string | undefined {
    return this.#modern.workspace ?? this.#legacy.workspace
  }

  /** True once the client has closed its input, although it may still wait for answers. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined
  }

  /** Sends deferred answers at once. */
  flush(): void {
    this.#writer.flush()
  }

  /** Cancels the calls in flight and closes the channel. */
  async close(reason: string, why?: 'unauthorized'): Promise<void> {
    this.#end(reason)
    this.#writer.flush()
    await this.#channel.close(why)
  }

  /** Applies new rules: closes the connection, or continues with the scopes that its credential has now. */
  renewCallers(renew: RenewCaller): void {
    const [opener, sender] = [renew(this.#caller), renew(this.#legacy.caller)]
    if (opener === undefined || sender === undefined) {
      void this.close(REVOKED, 'unauthorized')
      return
    }
    this.#caller = opener
    this.#legacy.setCaller(sender)
    this.#modern.renewCallers(renew)
  }

  // ── called by the channel ──

  message(bytes: Buffer): void {
    this.take(bytes, classifyInbound(bytes, this.#bounds, this.#refused), this.#caller)
  }

  /** Handles a message that was classified elsewhere. */
  take(bytes: Buffer, classified: Classified, caller: Caller): void {
    if (hasEnded(caller) && this.#isRefused(classified)) return
    this.#legacy.setCaller(caller)
    this.#writer.defersNotifications ||= isSdkRequest(bytes)
    this.#writer.canPing = this.#legacy.isKnown && !this.isLeaving
    this.#serve(eraOf(classified, undefined, this.#speaks), caller)
  }

  #serve(verdict: ReturnType<typeof eraOf>, caller: Caller): void {
    switch (verdict.is) {
      case 'modern':
        this.#claimed(verdict.message, caller)
        return
      case 'initialize':
        this.#legacy.receive(verdict.message, this.#writer)
        return
      case 'legacy':
        this.#unclaimed(verdict.message)
        return
      case 'legacy-batch': {
        const error = batchError(verdict.items, this.#legacy)
        if (error !== undefined) this.#refuseBatch(verdict.items, ownErrorText(-32600, error))
        else runBatch(verdict.items, this.#legacy, this.#writer, this.#bounds.unread)
        return
      }
      case 'malformed':
        if (verdict.isResponse) this.#logDropped(verdict.why)
        else this.#refuse(verdict.code, verdict.why, verdict.id)
        return
      case 'refused':
        // Notifications are never answered.
        if (verdict.batch !== undefined) this.#refuseBatch(verdict.batch, verdict.error)
        else if (verdict.id === undefined) this.#logDropped('it is refused')
        else this.#writer.write(encodeError(verdict.id, verdict.error))
    }
  }

  skipped(bytes: number, ends = NO_BYTES): void {
    this.#log.warn({ bytes }, 'skipped a message of the client that is longer than the limit')
    const reason = `The message of ${bytes} bytes is too long`
    if (bytes > this.#bounds.max.body) this.#refused?.('malformed')
    // Missing room was already counted.
    const why =
      bytes > this.#bounds.max.body
        ? this.#bounds.tooLarge('body', reason)
        : this.#bounds.overloadFault('inbound', reason)
    const { id, hasMethod, isResponse } = salvageId(ends)
    // Notifications are never answered.
    if (id === undefined ? hasMethod : isResponse) return
    if (id !== undefined || this.#readsErrorsWithoutId) this.#writer.write(encodeError(id, faultText(why)))
  }

  drained(): void {
    this.#channel.resume()
  }

  ended(): void {
    const untilMs = this.#clock.nowMs() + this.#drainMs()
    const check = (): void => {
      if (!this.#legacy.isBusy && !this.#modern.isBusy) this.#writer.flush()
      else if (this.#clock.nowMs() < untilMs) return
      if (this.#channel.queuedBytes > 0 && this.#clock.nowMs() < untilMs) return
      void this.close('the client closed its input')
    }
    this.#legacy.inputEnded()
    this.#writer.canPing = false
    this.#leaving = this.#clock.every(CHECK_MS, check)
    check()
  }

  closed(fault: Fault | undefined): void {
    this.#gone.resolve(fault)
    this.#end('the client closed the connection')
  }

  #claimed(message: Message & { kind: 'request' | 'notification' }, caller: Caller): void {
    if (message.kind === 'request') {
      const key = idKey(message.id)
      this.#modern.receive(message, { caller, replies: this.#writer, key, arrival: this.#writer.arrival })
    } else if (message.method === CANCELLED) this.#modern.cancel(message.params)
    else this.#modern.notified(message, caller)
  }

  /** Handles messages without a claim, which the ids they answer or cancel assign to an era. */
  #unclaimed(message: Message): void {
    const isAnswer = message.kind === 'result' || message.kind === 'error'
    if (isAnswer && message.id !== undefined && this.#writer.answered(message.id)) return
    const isCancel = message.kind === 'notification' && message.method === CANCELLED
    if (!isCancel || !this.#modern.cancel(message.params)) this.#legacy.receive(message, this.#writer)
  }

  /** Rejects requests; messages about requests in flight are allowed. */
  #isRefused(classified: Classified): boolean {
    if (classified.is === 'malformed') return false
    const { message } = classified.is === 'message' ? classified : { message: undefined }
    if (message !== undefined && message.kind !== 'request') return false
    this.#writer.write(encodeError(message?.id, faultText(expired())))
    return true
  }

  /** Closes the connection of an expired credential once its calls have ended, or after a while. */
  #expire(): void {
    if (!hasEnded(this.#caller)) return
    const isBusy = this.#legacy.isBusy || this.#modern.isBusy
    if (!isBusy || this.#caller.endsMs + EXPIRED_MS <= Date.now())
      void this.close('its credential has ended', 'unauthorized')
  }

  #end(reason: string): void {
    this.#expiry?.cancel()
    this.#leaving?.cancel()
    this.#legacy.close(reason)
    this.#modern.close(reason)
  }

  #refuse(code: number, why: string, id: JsonText | undefined): void {
    this.#logDropped(why)
    if (id !== undefined || this.#readsErrorsWithoutId)
      this.#writer.write(encodeError(id, ownErrorText(code, why)))
  }

  /** Answers every member that expects an answer; otherwise its client would wait forever. */
  #refuseBatch(items: readonly Classified[], error: JsonText): void {
    this.#logDropped('the batch is refused')
    const ids = items.flatMap(item => idOf(item) ?? [])
    for (const id of ids) this.#writer.write(encodeError(id, error))
    if (ids.length === 0 && this.#readsErrorsWithoutId) this.#writer.write(encodeError(undefined, error))
  }

  get #readsErrorsWithoutId(): boolean {
    return this.#legacy.isKnown ? this.#legacy.readsErrorsWithoutId : this.#modern.hasClients
  }

  #logDropped(why: string): void {
    this.#log.warn({ why }, 'dropped a malformed message of the client')
  }
}

const expired = (): Fault =>
  new Fault('unauthorized', 'The credential of this connection has ended: connect again')

/** Serves the client at the other end of a channel. */
export const servePipe = (channel: Channel, caller: Caller, options: PipeListenerOptions): PipeListener =>
  new PipeListener(channel, caller, options)
