import type { Clock } from '../../../kernel/async/clock.js'
import { Fault } from '../../../kernel/faults.js'
import { EMPTY, type JsonText, memberOf, textMember } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import type {
  CallSink,
  Downlink,
  DownlinkListener,
  DownstreamCall,
  Request,
  Requester,
} from '../../../model/links.js'
import { succeeded } from '../../../model/outcome.js'
import type { ClientCapabilities, ServerFacts } from '../../../model/peer.js'
import type { Conversation, ConversationListener } from '../../../rpc/channel/conversation.js'
import { namedIn } from '../../shared/passed-notification.js'
import { MODERN_REVISION } from '../../shared/protocol.js'
import { discoverParams, requestParams } from '../envelope.js'
import { LISTEN_NOTIFICATIONS, REQUEST_NOTIFICATIONS } from '../methods.js'
import { LocalCall, ModernOutboundCall, type ModernOutboundContext } from './outbound-call.js'
import { RevisionCheck } from './revision-check.js'
import { SubscriptionStream } from './subscription-stream.js'
import type { ToolSchemas } from './tool-schemas.js'

/** Options of a connection to a modern server. */
export interface ModernLinkOptions {
  /** The server's name, for errors and logs. */
  readonly server: string
  readonly listener: DownlinkListener
  /** Our own `Implementation` object, because the connection is shared by clients. */
  readonly identity: JsonText
  /** Returns what the proxy declares on requests for all clients; undefined for nothing. */
  readonly declares?: (() => ClientCapabilities | undefined) | undefined
  /** As in `Downlink`; false if absent. */
  readonly hasOtherMode?: boolean
  /** True if unknown notifications pass between the server and its clients. */
  readonly isAlone?: boolean | undefined
  readonly clock: Clock
  readonly log: Logger
  /** The server's limits; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/**
 * A connection to a modern server, which is stateless, so that all clients share it. The request ids and
 * progress tokens of this hop are created here and never sent to clients.
 */
export class ModernDownlink implements Downlink, ConversationListener {
  readonly serverRequests = 'returned'
  readonly hasOtherMode: boolean
  readonly facts: ServerFacts
  readonly #schemas: ToolSchemas | undefined
  readonly #options: ModernLinkOptions
  #attached: ModernOutboundContext | undefined

  /** `schemas` is undefined on pipes, where no arguments are repeated in headers. */
  constructor(facts: ServerFacts, schemas: ToolSchemas | undefined, options: ModernLinkOptions) {
    this.facts = facts
    this.hasOtherMode = options.hasOtherMode ?? false
    this.#schemas = schemas
    this.#options = options
  }

  /** Sets the conversation that reports to this downlink, and makes it usable. */
  attach(conversation: Conversation): void {
    const { server, listener, identity, clock, log, declares } = this.#options
    const revisionCheck = new RevisionCheck({
      conversation,
      clock,
      discoverParams: () => discoverParams(MODERN_REVISION, identity, declares?.()),
      end: () => this.#end(),
    })
    const { capabilities } = this.facts
    const shared = { conversation, identity, listener, revisionCheck }
    const subscriptions = new SubscriptionStream({ ...shared, capabilities, declares, clock, log })
    this.#attached = { ...shared, server, schemas: this.#schemas, subscriptions }
    subscriptions.start()
  }

  /** Tasks are an extension that servers have to declare. */
  get mayReturnTasks(): boolean {
    return this.facts.capabilities.tasks
  }

  get receivesUnsolicited(): boolean {
    return this.#connection.subscriptions.isReceiving
  }

  call(request: Request, sink: CallSink): DownstreamCall {
    const context = this.#connection
    const { subscriptions } = context
    switch (request.method) {
      case 'logging/setLevel':
        // Each request names its level (server/utilities/logging).
        return new LocalCall(sink, settle => settle(succeeded(EMPTY)))
      case 'resources/subscribe': {
        const uri = uriOf(request)
        return new LocalCall(
          sink,
          settle => subscriptions.subscribe(uri, settle),
          settle => subscriptions.forget(uri, settle),
        )
      }
      case 'resources/unsubscribe':
        return new LocalCall(sink, settle => {
          subscriptions.unsubscribe(uriOf(request))
          settle(succeeded(EMPTY))
        })
      default: {
        const call = new ModernOutboundCall(request, sink, context)
        call.start()
        return call
      }
    }
  }

  notify(method: string, params: JsonText | undefined, requester?: Requester): void {
    if (requester === undefined) {
      // This revision has no client notifications outside of requests.
      this.#options.log.debug({ method }, 'not sending a notification that this revision does not have')
      return
    }
    const { conversation, identity } = this.#connection
    void conversation.notify(method, requestParams(params, identity, { requester, isPassed: true }))
  }

  pause(): void {
    this.#connection.conversation.pause()
  }

  resume(): void {
    this.#connection.conversation.resume()
  }

  close(): Promise<void> {
    const { conversation, subscriptions } = this.#connection
    subscriptions.close()
    return conversation.close()
  }

  // ── called by the conversation ──

  /** Ignores requests, which servers must not send in this revision (2026-07-28, basic/transports). */
  requested(_id: JsonText, method: string): void {
    this.#options.log.warn({ method }, 'ignoring a request of the server: this revision has none')
  }

  notified(method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (this.#attached?.subscriptions.noticed(method, params, about) === true) return
    if (method === 'notifications/cancelled') {
      this.#cancelled(params)
      return
    }
    const call = about instanceof ModernOutboundCall ? about : undefined
    if (REQUEST_NOTIFICATIONS.has(method)) this.#options.listener.notified(method, params, call)
    else this.#notifiedOf(method, params, about, call ?? this.#named(params))
  }

  /** Passes a notification to a listening request, or to a client that alone understands it. */
  #notifiedOf(
    method: string,
    params: JsonText | undefined,
    about: CallSink | undefined,
    call: ModernOutboundCall | undefined,
  ): void {
    const { listener, log, isAlone } = this.#options
    if (LISTEN_NOTIFICATIONS.has(method) && call?.notified(method, params) === true) return
    // On a pipe it may be about a call that it does not name.
    const mayPass = call !== undefined || (about === undefined && !OUTSIDE_OF_CALLS.has(method))
    if (isAlone === true && mayPass) listener.notified(method, params, call)
    else log.debug({ method }, 'ignoring a notification that belongs to no open stream')
  }

  /** Ends a listening request that the server cancelled on a pipe (basic/patterns/cancellation). */
  #cancelled(params: JsonText | undefined): void {
    const id = params && memberOf(params, 'requestId')
    const call = id && this.#attached?.conversation.named(id)
    if (call instanceof ModernOutboundCall) call.endedByServer()
  }

  /** Returns the request that a notification on a pipe names in its `_meta`. */
  #named(params: JsonText | undefined): ModernOutboundCall | undefined {
    return namedIn(params, id => {
      const call = this.#attached?.conversation.named(id)
      return call instanceof ModernOutboundCall ? call : undefined
    })
  }

  closed(fault: Fault): void {
    this.#attached?.subscriptions.close()
    this.#options.listener.closed(fault)
  }

  // ── requests and outcomes ──

  get #connection(): ModernOutboundContext {
    if (this.#attached === undefined) throw new Fault('internal', 'The server is not connected')
    return this.#attached
  }

  #end(): Promise<void> {
    this.#options.log.info({}, `the server no longer speaks ${MODERN_REVISION}: reconnecting`)
    return this.close()
  }
}

/** Known notifications that are about no call. */
const OUTSIDE_OF_CALLS: ReadonlySet<string> = new Set([...LISTEN_NOTIFICATIONS, 'notifications/cancelled'])

const uriOf = ({ params }: Request): string => (params && textMember(params, 'uri')) ?? ''
