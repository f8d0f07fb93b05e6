import type { Clock } from '../../../kernel/async/clock.js'
import { Fault } from '../../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, rawText, stringOf, textMember } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import type {
  Caller,
  CallSink,
  Downlink,
  DownlinkListener,
  DownstreamCall,
  Request,
} from '../../../model/links.js'
import { listOfMethod } from '../../../model/listing.js'
import { failed, type Outcome, resulted } from '../../../model/outcome.js'
import { NO_CAPABILITIES, type ServerFacts } from '../../../model/peer.js'
import { repairError } from '../../../model/rpc-error.js'
import type { Conversation, ConversationListener } from '../../../rpc/channel/conversation.js'
import { MODERN_REVISION } from '../../protocol.js'
import { discoverParams, withEnvelope } from '../envelope.js'
import { mayNeedInput, REQUEST_NOTIFICATIONS } from '../methods.js'
import { readResultType } from '../result-type.js'
import { LocalCall, OutboundCall, type OutboundContext } from './outbound-call.js'
import { RevisionCheck } from './revision-check.js'
import { SubscriptionStream } from './subscription-stream.js'
import type { ToolSchemas } from './tool-schemas.js'

const EMPTY = rawText('{}')
/** The caller of our own subscriptions: nobody who could be asked. */
const NOBODY: Caller = { capabilities: NO_CAPABILITIES, logLevel: undefined }

/** What a connection to a modern server needs. */
export interface ModernLinkOptions {
  /** The server's name, for errors and logs. */
  readonly server: string
  readonly listener: DownlinkListener
  /** Our own `Implementation` object: the connection is nobody's alone. */
  readonly identity: JsonText
  /** As for every link; false if absent. */
  readonly hasOtherMode?: boolean
  readonly clock: Clock
  readonly log: Logger
  /** Those of the server; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/** What exists once a conversation is attached. */
interface Attached {
  readonly conversation: Conversation
  readonly context: OutboundContext
  readonly subscriptions: SubscriptionStream
}

/**
 * A connection to a modern server, which is stateless, so all clients share it. Request ids and progress
 * tokens of this hop are minted here and never go upstream.
 */
export class ModernDownlink implements Downlink, ConversationListener {
  readonly serverRequests = 'returned'
  readonly hasOtherMode: boolean
  readonly facts: ServerFacts
  readonly #schemas: ToolSchemas | undefined
  readonly #options: ModernLinkOptions
  #attached: Attached | undefined

  /** `schemas` is what is known of tools where requests repeat arguments in headers, which is over HTTP. */
  constructor(facts: ServerFacts, schemas: ToolSchemas | undefined, options: ModernLinkOptions) {
    this.facts = facts
    this.hasOtherMode = options.hasOtherMode ?? false
    this.#schemas = schemas
    this.#options = options
  }

  /** Binds the conversation that reports to this downlink: from here on it can be used. */
  attach(conversation: Conversation): void {
    const { server, listener, clock, log } = this.#options
    const revisionCheck = new RevisionCheck({
      conversation,
      clock,
      discoverParams: discoverParams(MODERN_REVISION, this.#options.identity),
      end: () => this.#end(),
    })
    const context: OutboundContext = {
      server,
      conversation,
      schemas: this.#schemas,
      wrap: (params, caller, followsTasks) => this.#withEnvelope(params, caller, followsTasks),
      decoded: (request, outcome) => this.#decoded(request, outcome),
      recheck: (outcome, then) => revisionCheck.check(outcome, then),
      toolsChanged: () => listener.notified('notifications/tools/list_changed', undefined, undefined),
    }
    const { capabilities } = this.facts
    const wrap = (params: JsonText): JsonText => this.#withEnvelope(params, NOBODY)
    const ended = (outcome: Outcome): void => void revisionCheck.check(outcome, () => undefined)
    const subscriptions = new SubscriptionStream({
      conversation,
      capabilities,
      listener,
      clock,
      log,
      wrap,
      ended,
    })
    this.#attached = { conversation, context, subscriptions }
    subscriptions.start()
  }

  /** Tasks are an extension, which a server has to declare. */
  get mayReturnTasks(): boolean {
    return this.facts.capabilities.tasks
  }

  get lastHeardMs(): number {
    return this.#connection.conversation.lastHeardMs
  }

  get hearsAmbient(): boolean {
    return this.#connection.subscriptions.isHeard
  }

  call(request: Request, sink: CallSink): DownstreamCall {
    const { context, subscriptions } = this.#connection
    switch (request.method) {
      case 'logging/setLevel':
        // Each request says it (server/utilities/logging).
        return new LocalCall(sink, settle => settle(resulted(EMPTY)))
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
          settle(resulted(EMPTY))
        })
      default: {
        const call = new OutboundCall(request, sink, context)
        call.start()
        return call
      }
    }
  }

  notify(method: string): void {
    // This revision has no notification that a client could send on its own account.
    this.#options.log.debug({ method }, 'not sending a notification that this revision does not have')
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

  /** A server must not ask, and is not answered (2026-07-28, basic/transports). */
  asked(_id: JsonText, method: string): void {
    this.#options.log.warn({ method }, 'ignoring a request of the server: this revision has none')
  }

  noticed(method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (this.#attached?.subscriptions.noticed(method, params, about) === true) return
    const { listener, log } = this.#options
    if (REQUEST_NOTIFICATIONS.has(method)) {
      listener.notified(method, params, about instanceof OutboundCall ? about : undefined)
    } else log.debug({ method }, 'ignoring a notification that belongs to no open stream')
  }

  closed(fault: Fault): void {
    this.#attached?.subscriptions.close()
    this.#options.listener.closed(fault)
  }

  // ── requests and outcomes ──

  get #connection(): Attached {
    if (this.#attached === undefined) throw new Fault('internal', 'The server is not connected')
    return this.#attached
  }

  #withEnvelope(
    params: JsonText | undefined,
    { capabilities, logLevel }: Caller,
    followsTasks = false,
  ): JsonText {
    const clientInfo = this.#options.identity
    const facts = { version: MODERN_REVISION, capabilities, clientInfo, logLevel, followsTasks }
    return withEnvelope(params, facts)
  }

  #end(): Promise<void> {
    this.#options.log.info({}, `the server no longer speaks ${MODERN_REVISION}: connecting anew`)
    return this.close()
  }

  /** A server's outcome as the neutral model has it, readable by any client. */
  #decoded({ method, followsTasks }: Request, outcome: Outcome): Outcome {
    const { server } = this.#options
    if (outcome.kind === 'error') {
      return { kind: 'error', error: repairError(outcome.error, server), revision: MODERN_REVISION, server }
    }
    if (outcome.kind !== 'result') return outcome
    const { result } = outcome
    if (kindOf(result) !== 'object') {
      return badAnswer(server, `Server ${server} answered ${method} with something that is no object`)
    }
    switch (readResultType(result)) {
      case 'complete':
      case 'absent':
        return resulted(this.#listed(method, result))
      case 'input_required':
        return mayNeedInput(method) ? { kind: 'input', result } : strangeType(server, result)
      case 'task':
        return followsTasks === true ? { kind: 'task', result } : strangeType(server, result)
      case 'unknown':
        return strangeType(server, result)
    }
  }

  #listed(method: string, result: JsonText): JsonText {
    if (listOfMethod(method) === undefined) return result
    this.#connection.subscriptions.wasRead(method)
    return method === 'tools/list' && this.#schemas !== undefined ? this.#schemas.learn(result) : result
  }
}

const uriOf = ({ params }: Request): string => (params && textMember(params, 'uri')) ?? ''

const badAnswer = (server: string, words: string): Outcome =>
  failed(new Fault('internal', words, { data: { server } }))

/** Not to be taken for any other kind (basic, "ResultType"). */
const strangeType = (server: string, result: JsonText): Outcome => {
  const type = memberOf(result, 'resultType')
  const word = (stringOf(type) ?? type?.toString() ?? '').slice(0, 64)
  return badAnswer(server, `Unsupported result type '${word}' from server ${server}`)
}
