import { backoffMs } from '../../../kernel/async/backoff.js'
import type { Clock, Timer } from '../../../kernel/async/clock.js'
import { Fault } from '../../../kernel/faults.js'
import { at, EMPTY, type JsonText, memberOf, textOf } from '../../../kernel/json/text.js'
import type { Logger } from '../../../kernel/logger.js'
import { type CallSink, type DownlinkListener, LISTEN } from '../../../model/links.js'
import { failed, type Outcome, type Settle, succeeded } from '../../../model/outcome.js'
import type { ClientCapabilities, ServerCapabilities } from '../../../model/peer.js'
import { errorCode, RPC_CODES } from '../../../model/rpc-error.js'
import type { Conversation } from '../../../rpc/channel/conversation.js'
import { ownIdOf } from '../../../rpc/channel/pending-requests.js'
import { META } from '../../shared/protocol.js'
import { requestParams } from '../envelope.js'
import { LISTEN_NOTIFICATIONS } from '../methods.js'
import { withoutReservedMeta } from '../project/meta.js'
import type { RevisionCheck } from './revision-check.js'
import {
  acceptedIn,
  changeKindsOf,
  type ListKind,
  listenParams,
  notAccepted,
  SubscriptionSet,
} from './subscription-set.js'

/** Subscriptions that change within this time share one request. */
const MERGE_MS = 100
/** The time for the server's acknowledgement. */
const ACK_MS = 10_000
const REOPEN = { firstMs: 1000, maxMs: 60_000 }
/** A stream that lived this long resets the backoff. */
const STEADY_MS = 60_000

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const UPDATED = 'notifications/resources/updated'

/** The context of the subscription stream. */
export interface SubscriptionStreamContext {
  readonly conversation: Conversation
  readonly capabilities: ServerCapabilities
  readonly listener: DownlinkListener
  readonly clock: Clock
  readonly log: Logger
  readonly identity: JsonText
  /** Returns what the clients of the connection declare together; undefined for nothing. */
  readonly declares?: (() => ClientCapabilities | undefined) | undefined
  readonly revisionCheck: RevisionCheck
}

/** One `subscriptions/listen` request. */
interface Stream {
  readonly id: number
  readonly sink: CallSink
  readonly uris: ReadonlySet<string>
  readonly timeout: Timer
  sinceMs: number
}

/**
 * Receives notifications outside of requests (2026-07-28, basic/patterns/subscriptions), with one
 * `subscriptions/listen` for the whole connection. A changed filter needs a new stream, which replaces the
 * old one once acknowledged. After a stream was lost, everything that may have been missed is reported as
 * changed.
 */
export class SubscriptionStream {
  readonly #context: SubscriptionStreamContext
  readonly #kinds: readonly ListKind[]
  readonly #subscriptions = new SubscriptionSet()
  /** The acknowledged stream. */
  #current: Stream | undefined
  /** The stream that is opened but not yet acknowledged. */
  #next: Stream | undefined
  #timer: Timer | undefined
  /** True if the filter has changed since the last request. */
  #isDue = false
  #openedMs = Number.NEGATIVE_INFINITY
  /** Declared on the last request. */
  #declared: ClientCapabilities | undefined
  #failures = 0
  /** True if a stream was lost and no other has been acknowledged since. */
  #mayHaveMissed = false
  /** Kinds of lists that were read without a stream to report their changes. */
  readonly #readUnobserved = new Set<ListKind>()
  /** True if the current stream covers all lists whose changes the server reports. */
  #isWhole = false
  #isOver = false

  constructor(context: SubscriptionStreamContext) {
    this.#context = context
    this.#kinds = changeKindsOf(context.capabilities)
  }

  /** True if all changes that the server can report will be received. */
  get isReceiving(): boolean {
    return this.#current !== undefined && this.#isWhole
  }

  /** Starts listening to list changes, if the server reports any. */
  start(): void {
    if (this.#kinds.length > 0) this.#change()
  }

  /** Subscribes to a resource; settles with `{}` once the server acknowledges. */
  subscribe(uri: string, settle: Settle): void {
    if (this.#isOver) settle(failed(closed()))
    else if (this.#subscriptions.isPromised(uri) && this.#current?.uris.has(uri) === true)
      settle(succeeded(EMPTY))
    else if (this.#subscriptions.add(uri, settle)) this.#change()
  }

  /** Forgets a caller that no longer waits for the acknowledgement. */
  forget(uri: string, settle: Settle): void {
    this.#subscriptions.forget(uri, settle)
  }

  /** Unsubscribes from a resource. */
  unsubscribe(uri: string): void {
    if (this.#subscriptions.remove(uri)) this.#change()
  }

  /**
   * Records that a list was read, because it may change unnoticed without a stream, or with one that declares
   * less than the clients whose list it is.
   */
  wasRead(method: string): void {
    if (this.#streams.length > 0 && this.#context.declares?.() !== this.#declared) this.#change()
    if (this.isReceiving) return
    const kind = this.#kinds.find(({ methods }) => methods.includes(method))
    if (kind !== undefined) this.#readUnobserved.add(kind)
  }

  /**
   * Handles a notification if it belongs to one of our streams; `about` is the request whose response carried
   * it.
   */
  noticed(method: string, params: JsonText | undefined, about: CallSink | undefined): boolean {
    if (method === 'notifications/cancelled') {
      const ended = this.#streamOf(params && memberOf(params, 'requestId'))
      if (ended !== undefined) this.#cancelled(ended)
      return ended !== undefined
    }
    if (!LISTEN_NOTIFICATIONS.has(method)) return false
    const stream =
      this.#streams.find(({ sink }) => sink === about) ??
      this.#streamOf(params && at(params, '_meta', META.subscriptionId))
    if (stream === undefined) return false
    if (method === ACKNOWLEDGED) this.#acknowledged(stream, params)
    else if (stream === this.#current) {
      this.#context.listener.notified(method, params && withoutReservedMeta(params), undefined)
    }
    return true
  }

  /** Closes with the connection; waiting callers get a fault. */
  close(): void {
    this.#isOver = true
    this.#timer?.cancel()
    for (const { timeout } of this.#streams) timeout.cancel()
    this.#current = undefined
    this.#next = undefined
    this.#subscriptions.close(closed())
  }

  // ── opening ──

  /** Requests the changed filter soon, merged with other changes, and rate-limited. */
  #change(): void {
    this.#isDue = true
    if (this.#next !== undefined || this.#isOver) return
    const sinceMs = this.#context.clock.nowMs() - this.#openedMs
    if (sinceMs < MERGE_MS) this.#openIn(MERGE_MS - sinceMs)
    else
      queueMicrotask(() => {
        if (this.#isDue) this.#open()
      })
  }

  #openIn(delayMs: number): void {
    this.#timer?.cancel()
    this.#timer = this.#context.clock.after(delayMs, () => this.#open())
  }

  #open(): void {
    if (this.#next !== undefined || this.#isOver) return
    this.#timer?.cancel()
    this.#isDue = false
    const { conversation, clock, identity, declares } = this.#context
    const { uris } = this.#subscriptions
    if (this.#kinds.length === 0 && uris.size === 0) {
      if (this.#current !== undefined) this.#drop(this.#current)
      this.#current = undefined
      return
    }
    const stream: Stream = {
      id: conversation.nextId(),
      sink: { progress: () => undefined, ended: outcome => this.#ended(stream, outcome) },
      uris,
      timeout: clock.after(ACK_MS, () => this.#timedOut(stream)),
      sinceMs: clock.nowMs(),
    }
    this.#openedMs = stream.sinceMs
    this.#next = stream
    this.#declared = declares?.()
    const requester = this.#declared && { capabilities: this.#declared, logLevel: undefined }
    const params = requestParams(listenParams(this.#kinds, uris), identity, { requester })
    conversation.request(stream.id, LISTEN, params, stream.sink)
  }

  // ── lifecycle of a stream ──

  #acknowledged(stream: Stream, params: JsonText | undefined): void {
    if (stream !== this.#next) return
    stream.timeout.cancel()
    stream.sinceMs = this.#context.clock.nowMs()
    const old = this.#current
    this.#current = stream
    this.#next = undefined
    if (old !== undefined) this.#drop(old)
    const { kinds, uris } = acceptedIn(params, this.#kinds)
    this.#isWhole = kinds.length === this.#kinds.length
    this.#subscriptions.acknowledge(stream.uris, uris)
    this.#report(kinds)
    if (this.#isDue) this.#change()
  }

  /** Reports everything as changed that may have changed unnoticed. */
  #report(kinds: readonly ListKind[]): void {
    const { listener } = this.#context
    const [isBehind, unobserved] = [this.#mayHaveMissed, new Set(this.#readUnobserved)]
    this.#mayHaveMissed = false
    this.#readUnobserved.clear()
    for (const kind of kinds) {
      if (isBehind || unobserved.has(kind)) listener.notified(kind.notification, undefined, undefined)
    }
    for (const uri of isBehind ? this.#subscriptions.accepted : []) {
      listener.notified(UPDATED, textOf({ uri }), undefined)
    }
  }

  /** The stream ended with a result or an error, or broke. */
  #ended(stream: Stream, outcome: Outcome): void {
    stream.timeout.cancel()
    if (this.#isOver) return
    this.#context.revisionCheck.check(outcome, () => undefined)
    if (stream === this.#current) {
      this.#current = undefined
      this.#mayHaveMissed = true
      if (this.#context.clock.nowMs() - stream.sinceMs >= STEADY_MS) this.#failures = 0
      if (this.#next === undefined) this.#reopen()
    } else if (stream === this.#next) {
      this.#next = undefined
      this.#refused(stream, outcome)
    }
  }

  /** The stream was not opened: settles its callers, and retries subscriptions accepted before. */
  #refused(stream: Stream, outcome: Outcome): void {
    this.#subscriptions.refuse(stream.uris, outcome.kind === 'fault' ? outcome.fault : notAccepted())
    const code = outcome.kind === 'error' ? errorCode(outcome.error) : undefined
    this.#context.log.debug(
      { kind: outcome.kind, code },
      'the server did not open a stream for notifications',
    )
    if (this.#isDue) this.#change()
    // A server without the method will not gain it soon; the next subscription tries again.
    else if (this.#current === undefined && code !== RPC_CODES['unknown-method']) this.#reopen()
  }

  #timedOut(stream: Stream): void {
    this.#drop(stream)
    this.#ended(
      stream,
      failed(new Fault('timeout', 'The server did not acknowledge the subscription in time')),
    )
  }

  /** The server cancelled the stream, as it may on a pipe (basic/patterns/cancellation). */
  #cancelled(stream: Stream): void {
    this.#context.conversation.forget(stream.id)
    this.#ended(stream, succeeded(EMPTY))
  }

  #reopen(): void {
    this.#openIn(backoffMs(this.#failures, REOPEN))
    this.#failures += 1
  }

  /** Cancels a stream at the server. */
  #drop({ id, timeout }: Stream): void {
    timeout.cancel()
    this.#context.conversation.forget(id)
    void this.#context.conversation.notify('notifications/cancelled', textOf({ requestId: id }))
  }

  // ── lookup ──

  get #streams(): readonly Stream[] {
    return [this.#current, this.#next].filter(stream => stream !== undefined)
  }

  #streamOf(id: JsonText | undefined): Stream | undefined {
    const own = ownIdOf(id)
    return own === undefined ? undefined : this.#streams.find(stream => stream.id === own)
  }
}

const closed = (): Fault => new Fault('disconnected', 'The connection to the server was closed')
