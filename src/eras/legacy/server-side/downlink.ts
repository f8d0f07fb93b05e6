import { Fault } from '../../../kernel/faults.js'
import { mayContain } from '../../../kernel/json/edit.js'
import { EMPTY, type JsonText, kindOf, memberOf, textMember, withMember } from '../../../kernel/json/text.js'
import type { Logger } from '../../../kernel/logger.js'
import type {
  CallSink,
  CancelReason,
  Downlink,
  DownlinkListener,
  DownstreamCall,
  Request,
  Requester,
  ServerRequest,
} from '../../../model/links.js'
import type { Answer } from '../../../model/outcome.js'
import { type LegacyRevision, NEWEST_LEGACY } from '../../../model/revision.js'
import { bareFaultText, errorText, RPC_CODES } from '../../../model/rpc-error.js'
import type { Conversation, ConversationListener } from '../../../rpc/channel/conversation.js'
import { tokenIn } from '../../../rpc/progress-token.js'
import { idKey, isId } from '../../../wire/jsonrpc.js'
import { namedIn } from '../../shared/passed-notification.js'
import { cancelledKey, methodNotFound } from '../../shared/protocol.js'
import type { LegacyFacts } from '../initialize-params.js'
import { SERVER_NOTIFICATIONS, SERVER_REQUESTS } from '../methods.js'
import { withoutModernMeta } from '../project/meta.js'
import { projectAnswer } from '../project/server-request.js'
import { Heartbeat, type HeartbeatOptions } from './heartbeat.js'
import { LegacyOutboundCall, type LegacyOutboundContext } from './outbound-call.js'

const RELATED_REQUEST = 'io.modelcontextprotocol/related-request'
/** Represents a request that a question names but that is not open. */
const CLOSED_CALL: DownstreamCall = { cancel: () => undefined }

/** Options of a connection to a legacy server. */
export interface LegacyLinkOptions {
  /** The server's name, for errors and logs. */
  readonly server: string
  readonly listener: DownlinkListener
  readonly log: Logger
  /** As in `Downlink`; false if absent. */
  readonly hasOtherMode?: boolean
  /** True if unknown messages of the server pass to its clients. */
  readonly isAlone?: boolean | undefined
}

/**
 * A connection to a legacy server, after its handshake. The request ids and progress tokens of this hop are
 * created here and never sent to clients.
 */
export class LegacyDownlink implements Downlink, ConversationListener, LegacyOutboundContext {
  readonly serverRequests = 'pushed'
  readonly hasOtherMode: boolean
  readonly server: string
  readonly #log: Logger
  readonly #listener: DownlinkListener
  readonly #isAlone: boolean
  readonly #serverRequests = new Map<string, PushedServerRequest>()
  /** Set by `attach`. */
  conversation!: Conversation
  /** Set by `established`. */
  facts!: LegacyFacts
  revision: LegacyRevision = NEWEST_LEGACY
  /** Since 2025-11-25 some servers create tasks without declaring them. */
  mayReturnTasks = true
  #heartbeat: Heartbeat | undefined
  #lost: Fault | undefined

  constructor({ server, listener, log, hasOtherMode = false, isAlone = false }: LegacyLinkOptions) {
    this.#isAlone = isAlone
    this.server = server
    this.#listener = listener
    this.#log = log
    this.hasOtherMode = hasOtherMode
  }

  /** Sets the conversation that reports to this downlink. */
  attach(conversation: Conversation): void {
    this.conversation = conversation
  }

  /** Completes the handshake. Throws the Fault if the connection was lost meanwhile. */
  established(facts: LegacyFacts, options: HeartbeatOptions): void {
    if (this.#lost !== undefined) throw this.#lost
    this.facts = facts
    this.revision = facts.revision
    this.mayReturnTasks = facts.revision >= '2025-11-25'
    if (options.pingMs !== Number.POSITIVE_INFINITY)
      this.#heartbeat = new Heartbeat(this.conversation, options)
  }

  get receivesUnsolicited(): boolean {
    return this.conversation.receivesUnsolicited
  }

  call(request: Request, sink: CallSink): DownstreamCall {
    return new LegacyOutboundCall(request, sink, this)
  }

  notify(method: string, params: JsonText | undefined, requester?: Requester): void {
    const own = requester === undefined ? params : params && withoutModernMeta(params)
    void this.conversation.notify(method, own)
  }

  get isPinging(): boolean {
    return this.#heartbeat?.isPinging === true
  }

  pause(): void {
    this.conversation.pause()
  }

  resume(): void {
    this.conversation.resume()
  }

  close(): Promise<void> {
    this.#heartbeat?.stop()
    return this.conversation.close()
  }

  replaced(then: () => void): void {
    this.#log.info({}, 'the server no longer speaks this revision: reconnecting')
    const { conversation } = this
    if (conversation.retire === undefined) void this.close().then(then)
    else {
      conversation.retire(new Fault('disconnected', 'The server no longer speaks this revision'))
      then()
    }
  }

  // ── called by the conversation ──

  requested(id: JsonText, method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    // Its answer would need the lost session.
    if (this.#lost !== undefined) return
    const key = idKey(id)
    if (method === 'ping') this.conversation.sendResult(id, EMPTY)
    else if (!SERVER_REQUESTS.has(method) && !this.#isAlone)
      this.conversation.sendError(id, methodNotFound(method))
    else if (this.#serverRequests.has(key)) {
      const error = errorText(RPC_CODES['invalid-request'], 'Request id already in use')
      this.conversation.sendError(id, error)
    } else {
      const call = callOf(about) ?? this.#namedBy(key, params)
      const request = new PushedServerRequest(method, params, call, this.#repliesTo(id, key, method))
      this.#serverRequests.set(key, request)
      this.#listener.requested(request)
    }
  }

  notified(method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (method === 'notifications/cancelled') this.#withdraw(params)
    else this.#listener.notified(method, params, callOf(about) ?? this.#ofUnknown(method, params))
  }

  /** Returns the request that a notification names if the proxy does not know its method. */
  #ofUnknown(method: string, params: JsonText | undefined): DownstreamCall | undefined {
    if (!this.#isAlone || SERVER_NOTIFICATIONS.has(method)) return undefined
    const named = namedIn(params, id => callOf(this.conversation.named(id)))
    // Where each request has a stream, other notifications belong to none.
    return named ?? (this.conversation.hasManyConnections ? CLOSED_CALL : undefined)
  }

  closed(fault: Fault): void {
    this.#lost = fault
    this.#heartbeat?.stop()
    for (const request of [...this.#serverRequests.values()]) request.withdraw('the server is gone')
    this.#serverRequests.clear()
    this.#listener.closed(fault)
  }

  /**
   * Returns the request that a question names in its `_meta`. The progress token of a request counts too,
   * unless it is the question's own id: SDK servers use that as the token of their questions.
   */
  #namedBy(key: string, params: JsonText | undefined): DownstreamCall | undefined {
    const meta = params && mayContain(params, '"_meta"') ? memberOf(params, '_meta') : undefined
    if (meta === undefined) return undefined
    const related = memberOf(meta, RELATED_REQUEST)
    if (related !== undefined) return this.#callOf(related) ?? CLOSED_CALL
    const token = tokenIn(meta)
    if (token === undefined || idKey(token) === key) return undefined
    const call = callOf(this.conversation.named(token))
    return call?.hasToken === true ? call : undefined
  }

  #callOf(related: JsonText): LegacyOutboundCall | undefined {
    const id = kindOf(related) === 'object' ? memberOf(related, 'requestId') : related
    return id !== undefined && isId(id) ? callOf(this.conversation.named(id)) : undefined
  }

  #repliesTo(id: JsonText, key: string, method: string): ServerRequestReplies {
    return {
      answer: outcome => {
        this.#serverRequests.delete(key)
        if (outcome.kind === 'result')
          this.conversation.sendResult(id, projectAnswer(this.revision, method, outcome.result))
        else {
          const error = outcome.kind === 'error' ? outcome.error : bareFaultText(outcome.fault)
          this.conversation.sendError(id, error)
        }
      },
      progress: params => this.notify('notifications/progress', params),
    }
  }

  #withdraw(params: JsonText | undefined): void {
    const key = cancelledKey(params) ?? ''
    const request = this.#serverRequests.get(key)
    if (request === undefined) {
      this.#log.debug({}, 'ignoring a cancellation of a request that is not in flight')
      return
    }
    const reason = params && textMember(params, 'reason')
    this.#log.debug({ method: request.method, reason }, 'the server cancelled a request')
    this.#serverRequests.delete(key)
    request.withdraw(reason)
  }
}

/** Returns the call whose stream carried a message of the server. */
const callOf = (about: CallSink | undefined): LegacyOutboundCall | undefined =>
  about instanceof LegacyOutboundCall ? about : undefined

/** Receives the answer to a server request, and its progress. */
interface ServerRequestReplies {
  answer(outcome: Answer): void
  progress(params: JsonText): void
}

/** One request of the server; only the first `answer` is sent. */
class PushedServerRequest implements ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about: DownstreamCall | undefined
  readonly wantsProgress: boolean
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly #token: JsonText | undefined
  readonly #replies: ServerRequestReplies
  #isOver = false

  constructor(
    method: string,
    params: JsonText | undefined,
    about: DownstreamCall | undefined,
    replies: ServerRequestReplies,
  ) {
    this.method = method
    this.params = params
    this.about = about
    this.#token = tokenIn(params && memberOf(params, '_meta'))
    this.wantsProgress = this.#token !== undefined
    this.#replies = replies
  }

  answer(outcome: Answer): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#replies.answer(outcome)
  }

  progress(params: JsonText): void {
    if (this.#isOver || this.#token === undefined) return
    this.#replies.progress(withMember(params, 'progressToken', this.#token))
  }

  withdraw(reason: CancelReason): void {
    if (this.#isOver) return
    this.#isOver = true
    this.onWithdrawn?.(reason)
  }
}
