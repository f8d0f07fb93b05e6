import { type Caller, hasEnded, haveSameScopes, type RenewCaller } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import { HashTable } from '../../../kernel/hash-table.js'
import { type JsonText, memberOf, textMember, textOf } from '../../../kernel/json/text.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import { shortName } from '../../../kernel/secrets/mask.js'
import { UNCACHED } from '../../../model/cache-hints.js'
import { type Arrival, LISTEN } from '../../../model/links.js'
import { type ListenerOptions, REVOKED } from '../../../rpc/host.js'
import { overloadResponse } from '../../../rpc/http/errors.js'
import { bareParams, type Message, metaOf } from '../../../wire/jsonrpc.js'
import { cancelledKey } from '../../shared/protocol.js'
import { type Envelope, readEnvelope } from '../envelope.js'
import { encodeModernFault, headerMismatch } from '../errors.js'
import { isKnownRequest, RETIRED_REQUESTS } from '../methods.js'
import { checkHeaders } from '../mirror-headers.js'
import { headersOfTool } from '../param-headers.js'
import { type ClientLimits, type ModernClient, ModernClients } from './clients.js'
import { encodeEntryError, writeDiscover } from './encode-outcome.js'
import { ModernInboundCall, type Replies } from './inbound-call.js'

export type RequestMessage = Extract<Message, { kind: 'request' }>
type NotificationMessage = Extract<Message, { kind: 'notification' }>

export const CANCELLED = 'notifications/cancelled'

/** The origin of a request. */
export interface RequestContext {
  readonly caller: Caller
  readonly replies: Replies
  /** Identifies the request: by its id on a pipe, by its exchange over HTTP. */
  readonly key: string
  /** Set over a network. */
  readonly arrival: Arrival | undefined
}

/** The source of requests: an endpoint shared by clients, or a channel, usually of one client. */
export type UplinkEntry = 'endpoint' | 'channel'

/** Bounds the info of all clients together. */
const INFO_TOTAL_BYTES = 32 * 1024 * 1024
const CHANNEL_CLIENTS = 32
/** Bounds the name of an unknown method in its error. */
const SHOWN_LENGTH = 128

/**
 * All clients of one endpoint or channel. Each request is checked independently (basic, "Per-request protocol
 * fields"), and rejected or passed to the mux.
 */
export class ModernUplink {
  readonly #options: ListenerOptions
  readonly #entry: UplinkEntry
  readonly #bounds: LimitCounters
  readonly #identity: JsonText
  readonly #clients: ModernClients
  readonly #calls = new HashTable<string, ModernInboundCall>()

  constructor(options: ListenerOptions, entry: UplinkEntry) {
    const bounds = options.bounds ?? new LimitCounters()
    this.#options = options
    this.#entry = entry
    this.#bounds = bounds
    this.#identity = textOf(options.identity)
    const limits = (): ClientLimits => ({
      clients: entry === 'channel' ? CHANNEL_CLIENTS : bounds.max.clients,
      bytes: INFO_TOTAL_BYTES,
    })
    const left = (client: ModernClient): void => options.handler.left(client)
    this.#clients = new ModernClients(options.clock, limits, left, options.via)
  }

  /** True if any client of this era is known. */
  get hasClients(): boolean {
    return this.#clients.size > 0
  }

  /** The first known folder of a client. */
  get workspace(): string | undefined {
    return this.#clients.workspace
  }

  /** True if a client waits for an answer, other than to `subscriptions/listen`. */
  get isBusy(): boolean {
    for (const { method } of this.#calls.values()) if (method !== LISTEN) return true
    return false
  }

  /** Requests in flight. */
  get openCalls(): number {
    return this.#calls.size
  }

  find(key: string): ModernInboundCall | undefined {
    return this.#calls.get(key)
  }

  /** Cancels the request that a `notifications/cancelled` names; returns false if it is unknown. */
  cancel(params: JsonText | undefined): boolean {
    const call = this.#calls.get(cancelledKey(params) ?? '')
    call?.cancel(params && textMember(params, 'reason'))
    return call !== undefined
  }

  /** Passes a notification to a single server; with several, this revision has none but cancellations. */
  notified({ method, params }: NotificationMessage, caller: Caller): void {
    const { handler } = this.#options
    if (handler.passesUnknown !== true) return
    const check = readEnvelope(params && memberOf(params, '_meta'))
    const client = check.is === 'fine' ? this.#clients.of(caller, check.envelope) : undefined
    if (client !== undefined) handler.notified(client, method, params)
  }

  /** Handles a request; answers an invalid one with an error. */
  receive(message: RequestMessage, context: RequestContext): void {
    const call = this.#admit(message, context)
    if (call === undefined) return
    if (call.method === 'server/discover') void this.#discover(call)
    else this.#options.handler.call(call)
  }

  /** Keeps the connections of requests in flight open; called every few seconds. */
  keepAlive(): void {
    for (const call of this.#calls.values()) call.keepAlive()
  }

  /** Forgets idle clients, and ends subscriptions whose credential has expired. */
  sweep(): void {
    this.#clients.sweep()
    for (const call of this.#calls.values())
      if (call.method === LISTEN && hasEnded(call.caller)) call.abandon(REVOKED, disconnected(REVOKED))
  }

  /** Applies new rules; subscriptions also end if their caller's scopes have changed. */
  renewCallers(renew: RenewCaller): void {
    for (const call of this.#calls.values()) {
      const caller = renew(call.caller)
      const isSame = caller !== undefined && (call.method !== LISTEN || haveSameScopes(caller, call.caller))
      if (!isSame) call.abandon(REVOKED, disconnected(REVOKED))
    }
  }

  /** Ends every request in flight and forgets the clients. */
  close(reason: string): void {
    const why = disconnected(reason)
    for (const call of this.#calls.values()) call.abandon(reason, why)
    this.#clients.close()
  }

  /** Creates the call of a request; undefined if it was rejected. */
  #admit(message: RequestMessage, context: RequestContext): ModernInboundCall | undefined {
    try {
      const envelope = this.#check(message, context)
      if (envelope !== undefined) return this.#callOf(message, context, envelope)
    } catch (thrown) {
      const why = Fault.from(thrown)
      this.#refuse(message, context, encodeModernFault(why), why)
    }
    return undefined
  }

  /** Checks the envelope, the headers and the method, in this order. Throws a Fault. */
  #check(message: RequestMessage, context: RequestContext): Envelope | undefined {
    const { method } = message
    const check = readEnvelope(metaOf(message))
    if (check.is === 'malformed') throw check.fault
    const headers = context.arrival?.headers
    const tool = headers && this.#toolOf(message, context.caller, check.envelope)
    const mismatch = headers && checkHeaders(headers, message, tool && headersOfTool(tool))
    if (mismatch !== undefined) {
      this.#refuse(message, context, headerMismatch(mismatch))
      return undefined
    }
    const isPassed = this.#options.handler.passesUnknown === true && !RETIRED_REQUESTS.has(method)
    if (!isKnownRequest(method) && !isPassed) {
      throw new Fault('unknown-method', `Method not found: ${shortName(method, SHOWN_LENGTH)}`)
    }
    if (this.#calls.has(context.key)) throw new Fault('invalid-request', 'Request id already in use')
    return check.envelope
  }

  #callOf(
    message: RequestMessage,
    { caller, replies, key, arrival }: RequestContext,
    envelope: Envelope,
  ): ModernInboundCall {
    const { id, method, params } = message
    // The client description is only for this hop: most servers get the remaining params unchanged.
    const named = envelope.isAll ? message.named : undefined
    const client = this.#clientOf(caller, envelope)
    const call = new ModernInboundCall({
      id,
      method,
      params: named === undefined ? params : bareParams(message),
      named,
      token: envelope.token?.toString('latin1'),
      declared: envelope.declared,
      client,
      caller,
      isPrivate: this.#options.isPrivate === true,
      logLevel: envelope.logLevel,
      replies,
      arrival,
      identity: () => this.#options.handler.ownIdentity(client) ?? this.#identity,
      over: () => this.#calls.take(key),
    })
    this.#calls.set(key, call)
    return call
  }

  async #discover(call: ModernInboundCall): Promise<void> {
    const answered = this.#options.handler.answering?.(call) ?? call
    const welcome = await this.#options.handler.welcome(call.client)
    // Servers come and go, and no notification reports a stale answer.
    answered.end({
      kind: 'result',
      result: writeDiscover(welcome, this.#options.extensions),
      hints: UNCACHED,
    })
  }

  /**
   * Returns the client of a request. Throws a Fault `overloaded` if there are too many clients or requests in
   * flight.
   */
  #clientOf(caller: Caller, envelope: Envelope): ModernClient {
    const { max } = this.#bounds
    if (this.#entry === 'channel' && this.#calls.size >= max.callsPerClient)
      throw this.#bounds.overloaded('callsPerClient', `You have ${this.#calls.size} requests in flight`)
    const client = this.#clients.of(caller, envelope)
    if (client === undefined)
      throw this.#bounds.overloaded('clients', 'Too many clients have requests in flight')
    if (client.openCalls < max.callsPerStatelessClient) return client
    const reason = `Clients like you have ${client.openCalls} requests in flight`
    throw this.#bounds.overloaded('callsPerStatelessClient', reason, { client: client.id })
  }

  /** Returns the tool whose `x-mcp-header` annotations the client may have read. */
  #toolOf(message: RequestMessage, caller: Caller, envelope: Envelope): JsonText | undefined {
    const { method, params, named } = message
    if (method !== 'tools/call' || params === undefined) return undefined
    const name = named ?? textMember(params, 'name')
    if (name === undefined) return undefined
    return this.#options.handler.tool(this.#clientOf(caller, envelope), name)
  }

  #refuse({ id }: RequestMessage, { replies }: RequestContext, error: JsonText, why?: Fault): void {
    const { frame, status } = encodeEntryError(id, error)
    replies.end(frame, overloadResponse(why) ?? { status })
  }
}

const disconnected = (reason: string): Fault => new Fault('disconnected', `The connection is over: ${reason}`)
