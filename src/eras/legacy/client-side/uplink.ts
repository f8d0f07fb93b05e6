import type { Holding } from '../../../kernel/byte-account.js'
import { type Caller, haveSameScopes, type Principal } from '../../../kernel/caller.js'
import { Fault, type FaultData } from '../../../kernel/faults.js'
import { HashTable } from '../../../kernel/hash-table.js'
import { randomId } from '../../../kernel/ids.js'
import { EMPTY, type JsonText, textMember } from '../../../kernel/json/text.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Call, Client, ProjectedRequest, ServerRequest, Via, Welcome } from '../../../model/links.js'
import { failed, type Outcome, succeeded } from '../../../model/outcome.js'
import {
  type ClientCapabilities,
  canAnswerQuestions,
  NO_CAPABILITIES,
  newClientId,
} from '../../../model/peer.js'
import { type LegacyRevision, NEWEST_LEGACY } from '../../../model/revision.js'
import type { AdoptedSession } from '../../../rpc/adopted-session.js'
import type { UplinkOptions } from '../../../rpc/host.js'
import type { Outlet, ReplyStream } from '../../../rpc/outlet.js'
import { encodeError, encodeNotification, idKey, type Message } from '../../../wire/jsonrpc.js'
import { cancelledKey } from '../../shared/protocol.js'
import { encodeLegacyFault } from '../errors.js'
import { readInitialize, writeInitialize } from '../initialize-params.js'
import { hasUnknownAudio, projectServerRequest } from '../project/server-request.js'
import { LegacyInboundCall } from './inbound-call.js'
import { PendingServerRequests } from './pending-server-requests.js'

const EMPTY_RESULT: Outcome = { kind: 'result', result: EMPTY, isPlain: true }
/** A message received before `initialize` was answered. */
interface Waiting {
  readonly message: Message
  readonly replies: ReplyStream
  readonly holding: Holding
  readonly caller: Caller
}

/** Messages that may wait for the answer to `initialize`. */
const QUEUE_MAX = 1000

/**
 * One legacy client: its handshake, its requests in flight, and the server requests that it has not answered.
 * Independent of the transport: answers go to the request's reply stream, everything else to the outlet.
 *    new ─initialize▶ initializing ─answered▶ open ─close▶ closed; messages queue while initializing.
 */
export class LegacyUplink implements Client {
  readonly id = newClientId()
  readonly principal: Principal
  readonly via: Via | undefined
  readonly serverRequests = 'pushed'
  revision: LegacyRevision = NEWEST_LEGACY
  capabilities: ClientCapabilities = NO_CAPABILITIES
  /** True if servers may ask the client anything. */
  canAnswer = false
  info: JsonText = EMPTY
  readonly view: string | undefined
  workspace: string | undefined
  readonly sessionAt: Client['sessionAt']
  readonly #options: UplinkOptions
  readonly #outlet: Outlet
  /** The calls in flight by their ids. */
  readonly calls = new HashTable<string, LegacyInboundCall>()
  readonly #serverRequests: PendingServerRequests
  readonly #bounds: LimitCounters
  readonly #adopted: AdoptedSession | undefined
  #state: 'new' | 'initializing' | 'open' | 'closed' = 'new'
  /** The sender of the last message. */
  caller: Caller
  #hasInputEnded = false
  /** Messages received while initializing; the first is `initialize` itself. */
  #waiting: Waiting[] = []
  #initializeCall: LegacyInboundCall | undefined

  /** `adopted` is set if the client's messages may arrive through several replicas. */
  constructor(caller: Caller, outlet: Outlet, options: UplinkOptions, adopted?: AdoptedSession) {
    this.principal = caller.principal
    this.workspace = caller.workspace
    this.caller = caller
    this.view = caller.view
    this.#outlet = outlet
    this.via = options.via
    this.#options = options
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#serverRequests = new PendingServerRequests(outlet, this.#bounds, options.clock)
    this.#adopted = adopted
    this.sessionAt = adopted?.sessionAt
  }

  /** Records the sender of the following messages: the same principal, possibly with another credential. */
  setCaller(caller: Caller): void {
    const before = this.caller
    if (caller === before) return
    this.caller = caller
    if (this.#state === 'open' && !haveSameScopes(before, caller)) this.#options.handler.callerChanged(this)
  }

  get sessionId(): string | undefined {
    return this.#outlet.id
  }

  get queuedBytes(): number {
    return this.#outlet.queuedBytes
  }

  /** Requests in flight. */
  get openCalls(): number {
    return this.calls.size
  }

  /** True if the client waits for an answer. */
  get isBusy(): boolean {
    return this.#state === 'initializing' || this.calls.size > 0
  }

  /** True if the client has sent a valid `initialize`, answered or not. */
  get isKnown(): boolean {
    return this.#state === 'initializing' || this.#state === 'open'
  }

  /** True if the client's revision has errors without id; older SDK clients reject the frame. */
  get readsErrorsWithoutId(): boolean {
    return this.#state === 'open' && this.revision >= '2025-11-25'
  }

  /** Handles one message of the client; its answer goes to `replies`. Never throws. */
  receive(message: Message, replies: ReplyStream): void {
    if (this.#state === 'initializing') {
      this.#wait(message, replies)
      return
    }
    switch (message.kind) {
      case 'request':
        this.#request(message, replies)
        return
      case 'notification':
        this.#notified(message.method, message.params)
        replies.end(undefined)
        return
      case 'result':
        this.#serverRequests.answered(message.id, succeeded(message.result))
        replies.end(undefined)
        return
      case 'error':
        if (message.id !== undefined)
          this.#serverRequests.answered(message.id, { kind: 'error', error: message.error })
        replies.end(undefined)
    }
  }

  /** Queues a message while initializing; rejects it and returns false if there is no room. */
  #wait(message: Message, replies: ReplyStream): boolean {
    const isFull = this.#waiting.length >= QUEUE_MAX
    const holding = isFull ? undefined : this.#bounds.inbound.reserve(bytesOf(message))
    if (holding === undefined) {
      const reason = isFull ? 'Too many messages' : 'Too much'
      refuse(message, replies, new Fault('overloaded', `${reason} before the answer to initialize`))
      return false
    }
    this.#waiting.push({ message, replies, holding, caller: this.caller })
    return true
  }

  #takeWaiting(): readonly Waiting[] {
    const all = this.#waiting.splice(0)
    for (const { holding } of all) holding.set(0)
    return all
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.#state === 'open') this.#outlet.notify(encodeNotification(method, params), method)
  }

  ask(ask: ServerRequest, during: Call | undefined): void {
    if (this.#state === 'closed' || this.#hasInputEnded) {
      ask.answer(failed(gone()))
      return
    }
    if (hasUnknownAudio(this.revision, ask.method, ask.params)) {
      ask.answer(failed(new Fault('invalid-params', 'Sampling with audio not supported')))
      return
    }
    this.#serverRequests.add(ask, during instanceof LegacyInboundCall ? during : undefined)
  }

  project(method: string, params: JsonText | undefined, isShared: boolean): ProjectedRequest {
    const { revision, capabilities } = this
    const target = { revision, capabilities, isShared, newElicitationId: randomId }
    return projectServerRequest(method, params, target)
  }

  /** Handles the end of the client's input: server requests fail, its own calls continue. */
  inputEnded(): void {
    this.#hasInputEnded = true
    this.#serverRequests.close(gone())
  }

  /**
   * Ends the session: cancels its calls and answers them with an error with `data`, so that clients do not
   * time out.
   */
  close(reason: string, data?: FaultData): void {
    if (this.#state === 'closed') return
    const wasKnown = this.isKnown
    this.#state = 'closed'
    this.#serverRequests.close(gone())
    const why = new Fault('disconnected', `The session is over: ${reason}`, data && { data })
    for (const call of this.calls.values()) call.abandon(reason, why)
    this.calls.clear()
    this.#initializeCall?.abandon(reason, why)
    for (const { message, replies } of this.#takeWaiting().slice(1)) refuse(message, replies, why)
    if (wasKnown) this.#options.handler.left(this)
  }

  /** Cancels calls whose client has been without a connection for their answers since `ms` or earlier. */
  cancelUnread(ms: number): void {
    if (this.calls.size === 0) return
    for (const call of this.calls.values()) {
      const { goneMs } = call.replies
      if (goneMs !== undefined && goneMs <= ms) call.cancel('its client disconnected')
    }
  }

  /** Keeps the connections of requests in flight open. */
  keepAlive(): void {
    for (const { replies } of [...this.calls.values(), ...this.#waiting]) replies.keepAlive?.()
  }

  /** Reports that the client has been away for a while. */
  reportIdle(): void {
    if (this.#state === 'open') this.#options.handler.idle(this)
  }

  /**
   * Returns whether a call in flight was already routed to a server, after which it is no longer rejected.
   */
  isRouted(id: JsonText): boolean {
    return this.calls.get(idKey(id))?.isRouted === true
  }

  // ── requests ──

  #request(message: Message & { kind: 'request' }, replies: ReplyStream): void {
    const { method } = message
    if (method === 'ping') {
      this.#end(message, replies, EMPTY_RESULT)
    } else if (method === 'initialize') {
      this.#initialize(message, replies)
    } else if (this.#state !== 'open') {
      this.#refuse(message, replies, new Fault('invalid-request', 'Not initialized'))
    } else {
      this.#call(message, replies)
    }
  }

  #call(message: Message & { kind: 'request' }, replies: ReplyStream): void {
    const key = idKey(message.id)
    if (this.calls.has(key)) {
      this.#refuse(message, replies, new Fault('invalid-request', 'Request id already in use'))
      return
    }
    if (this.calls.size >= this.#bounds.max.callsPerClient) {
      const reason = `You have ${this.calls.size} requests in flight`
      this.#refuse(message, replies, this.#bounds.overloaded('callsPerClient', reason, { client: this.id }))
      return
    }
    // A client that makes requests is ready, even without reporting it.
    if (this.#serverRequests.isDeferring) this.#serverRequests.release()
    const call = new LegacyInboundCall(message, key, replies, this)
    this.calls.set(key, call)
    const early = this.#adopted?.takeCancel?.(key)
    if (early === undefined) this.#options.handler.call(call)
    else call.cancel(early.reason)
  }

  #initialize(message: Message & { kind: 'request' }, replies: ReplyStream): void {
    if (this.#state !== 'new') {
      this.#refuse(message, replies, new Fault('invalid-request', 'Already initialized'))
      return
    }
    try {
      const { revision, capabilities, info } = readInitialize(message.params)
      this.revision = revision
      this.capabilities = capabilities
      this.canAnswer = canAnswerQuestions(capabilities)
      this.info = info
    } catch (thrown) {
      this.#refuse(message, replies, Fault.from(thrown))
      return
    }
    if (!this.#wait(message, replies)) return
    this.#state = 'initializing'
    const call = new LegacyInboundCall(message, undefined, replies, this)
    this.#initializeCall = call
    const answered = this.#options.handler.answering?.(call) ?? call
    void this.#options.handler.welcome(this).then(welcome => this.#initialized(answered, welcome))
  }

  #initialized(call: Pick<Call, 'end'>, welcome: Welcome): void {
    if (this.#state !== 'initializing') return
    this.#state = 'open'
    this.#initializeCall = undefined
    const result = writeInitialize(this.revision, welcome, this.#options.identity)
    call.end({ kind: 'result', result, isPlain: true })
    for (const { message, replies: stream, caller } of this.#takeWaiting().slice(1)) {
      this.setCaller(caller)
      this.receive(message, stream)
    }
  }

  /** Ends a request that is answered here. */
  #end(message: Message & { kind: 'request' }, replies: ReplyStream, outcome: Outcome): void {
    const call = new LegacyInboundCall(message, undefined, replies, this)
    const answered = this.#options.handler.answering?.(call) ?? call
    answered.end(outcome)
  }

  #refuse(message: Message & { kind: 'request' }, replies: ReplyStream, why: Fault): void {
    this.#end(message, replies, failed(why))
  }

  // ── notifications ──

  #notified(method: string, params: JsonText | undefined): void {
    switch (method) {
      case 'notifications/initialized':
        if (this.#state === 'open') this.#serverRequests.release()
        return
      case 'notifications/cancelled':
        this.#cancelled(params)
        return
      case 'notifications/progress':
        if (params !== undefined) this.#serverRequests.progress(params)
        return
      default:
        if (this.#state === 'open') this.#options.handler.notified(this, method, params)
    }
  }

  #cancelled(params: JsonText | undefined): void {
    const { log } = this.#options
    const key = cancelledKey(params) ?? ''
    const call = this.calls.get(key)
    const reason = params && textMember(params, 'reason')
    if (call === undefined) {
      this.#adopted?.cancelled?.(key, reason)
      log.debug({ client: this.id }, 'ignoring a cancellation of a request that is not in flight')
      return
    }
    log.debug({ client: this.id, method: call.method, reason }, 'the client cancelled a request')
    call.cancel(reason)
  }
}

const gone = (): Fault => new Fault('disconnected', 'The client is gone')

const bytesOf = (message: Message): number => {
  switch (message.kind) {
    case 'request':
    case 'notification':
      return message.params?.length ?? 0
    case 'result':
      return message.result.length
    case 'error':
      return message.error.length
  }
}

const refuse = (message: Message, replies: ReplyStream, why: Fault): void => {
  replies.end(message.kind === 'request' ? encodeError(message.id, encodeLegacyFault(why)) : undefined)
}
