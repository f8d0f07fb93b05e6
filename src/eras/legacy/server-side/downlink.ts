import { Fault } from '../../../kernel/faults.js'
import { mayHold } from '../../../kernel/json/edit.js'
import {
  type JsonText,
  kindOf,
  memberOf,
  rawText,
  textMember,
  textOf,
  withMember,
} from '../../../kernel/json/text.js'
import type { Logger } from '../../../kernel/logger.js'
import { said } from '../../../kernel/mask.js'
import { isPlain } from '../../../model/content.js'
import type {
  CallSink,
  CancelReason,
  Downlink,
  DownlinkListener,
  DownstreamCall,
  Request,
  ServerRequest,
} from '../../../model/links.js'
import { type Answer, failed, type Outcome, resulted } from '../../../model/outcome.js'
import type { ServerFacts } from '../../../model/peer.js'
import type { Progress } from '../../../model/progress.js'
import { type LegacyRevision, NEWEST_LEGACY } from '../../../model/revision.js'
import { errorText, RPC_CODES, repairError } from '../../../model/rpc-error.js'
import type { Conversation, ConversationListener } from '../../../rpc/channel/conversation.js'
import { tokenOf, withToken } from '../../../rpc/progress-token.js'
import { idKey, isId } from '../../../wire/jsonrpc.js'
import { hasBecomeModern } from '../../detect/probe-verdict.js'
import { encodeFault } from '../errors.js'
import { EMPTY_RESULTS, SERVER_REQUESTS } from '../methods.js'
import { projectRequest } from '../project/messages.js'
import type { Heartbeat } from './heartbeat.js'

const EMPTY = rawText('{}')

/** What a connection to a legacy server needs. */
export interface LegacyLinkOptions {
  /** The server's name, for errors and logs. */
  readonly server: string
  readonly listener: DownlinkListener
  readonly log: Logger
  /** As for every link; false if absent. */
  readonly hasOtherMode?: boolean
}

/**
 * A connection to a legacy server, after its handshake. Request ids and progress tokens of this hop are
 * minted here and never go upstream.
 */
export class LegacyDownlink implements Downlink, ConversationListener {
  readonly serverRequests = 'pushed'
  readonly hasOtherMode: boolean
  readonly #server: string
  readonly #log: Logger
  readonly #listener: DownlinkListener
  readonly #serverRequests = new Map<string, PushedServerRequest>()
  #attached: Conversation | undefined
  #facts: ServerFacts | undefined
  #heartbeat: Heartbeat | undefined
  #revision: LegacyRevision = NEWEST_LEGACY
  #lost: Fault | undefined

  constructor({ server, listener, log, hasOtherMode = false }: LegacyLinkOptions) {
    this.#server = server
    this.#listener = listener
    this.#log = log
    this.hasOtherMode = hasOtherMode
  }

  /** Binds the conversation that reports to this downlink; before anything can be sent. */
  attach(conversation: Conversation): void {
    this.#attached = conversation
  }

  /** Completes the handshake. Throws the Fault if the connection was lost meanwhile. */
  established(revision: LegacyRevision, facts: ServerFacts, heartbeat: Heartbeat | undefined): void {
    this.#heartbeat = heartbeat
    if (this.#lost !== undefined) throw this.#lost
    this.#revision = revision
    this.#facts = facts
  }

  get facts(): ServerFacts {
    if (this.#facts === undefined) throw new Fault('internal', 'The server has not been initialized')
    return this.#facts
  }

  /** Before 2025-11-25 there were no tasks; since then some servers make them without having declared it. */
  get mayReturnTasks(): boolean {
    return this.#revision >= '2025-11-25'
  }

  get lastHeardMs(): number {
    return this.#conversation.lastHeardMs
  }

  get hearsAmbient(): boolean {
    return this.#conversation.hearsAmbient
  }

  call(request: Request, sink: CallSink): DownstreamCall {
    const conversation = this.#conversation
    const id = conversation.nextId()
    const call = new OutboundCall(id, request.method, sink, this)
    conversation.request(id, request.method, this.#paramsOf(request, id), call)
    return call
  }

  /** What of a request's params this server knows, with our token in place of any other. */
  #paramsOf({ method, params, isBare, wantsProgress, taskTtlMs }: Request, id: number): JsonText | undefined {
    if (isBare === true && !wantsProgress) return withTask(params, taskTtlMs)
    const known = projectRequest(this.#revision, method, params)
    return withToken(withTask(known, taskTtlMs), wantsProgress ? textOf(id) : undefined)
  }

  notify(method: string, params: JsonText | undefined): void {
    void this.#conversation.notice(method, params)
  }

  pause(): void {
    this.#conversation.pause()
  }

  resume(): void {
    this.#conversation.resume()
  }

  close(): Promise<void> {
    this.#heartbeat?.stop()
    return this.#conversation.close()
  }

  /** Cancels a call at the server (utilities/cancellation). */
  callOff(id: number, reason: CancelReason): void {
    this.#conversation.forget(id)
    this.notify(
      'notifications/cancelled',
      textOf(reason === undefined ? { requestId: id } : { requestId: id, reason }),
    )
  }

  /** The server was replaced by one of another era: closes, so that the next connection detects it. */
  replaced(then: () => void): void {
    this.#log.info({}, 'the server no longer speaks this revision: connecting anew')
    void this.close().then(then)
  }

  /** A task came of a request: what the server says of its progress is still for `call`. */
  keep(id: number, call: CallSink): void {
    this.#conversation.keep(id, call)
  }

  forget(id: number): void {
    this.#conversation.forget(id)
  }

  /** Repairs a server's outcome so that any client may read it. */
  repaired(method: string, outcome: Outcome): Outcome {
    if (outcome.kind === 'error') {
      const server = this.#server
      return { kind: 'error', error: repairError(outcome.error, server), revision: this.#revision, server }
    }
    if (outcome.kind !== 'result') return outcome
    if (method === 'tools/call' && isPlain(outcome.result)) {
      return { kind: 'result', result: outcome.result, isPlain: true }
    }
    if (method === 'tools/call' && isTask(outcome.result)) return { kind: 'task', result: outcome.result }
    if (kindOf(outcome.result) === 'object') return outcome
    if (EMPTY_RESULTS.has(method)) return resulted(EMPTY)
    return failed(
      new Fault('internal', `Server ${this.#server} answered ${method} with something that is no object`, {
        data: { server: this.#server },
      }),
    )
  }

  // ── called by the conversation ──

  asked(id: JsonText, method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (method === 'ping') {
      this.#conversation.reply(id, EMPTY)
      return
    }
    if (!SERVER_REQUESTS.has(method)) {
      this.#conversation.refuse(
        id,
        errorText(RPC_CODES['unknown-method'], `Method not found: ${said(method)}`),
      )
      return
    }
    const key = idKey(id)
    if (this.#serverRequests.has(key)) {
      const error = errorText(RPC_CODES['invalid-request'], 'Request id already in use')
      this.#conversation.refuse(id, error)
      return
    }
    const ask = new PushedServerRequest(method, params, about instanceof OutboundCall ? about : undefined, {
      answer: outcome => {
        this.#serverRequests.delete(key)
        this.#answer(id, outcome)
      },
      tell: (notice, noticeParams) => this.notify(notice, noticeParams),
    })
    this.#serverRequests.set(key, ask)
    this.#listener.requested(ask)
  }

  noticed(method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (method === 'notifications/cancelled') {
      this.#withdraw(params)
      return
    }
    this.#listener.notified(method, params, about instanceof OutboundCall ? about : undefined)
  }

  closed(fault: Fault): void {
    this.#lost = fault
    this.#heartbeat?.stop()
    for (const ask of [...this.#serverRequests.values()]) ask.withdraw('the server is gone')
    this.#serverRequests.clear()
    this.#listener.closed(fault)
  }

  get #conversation(): Conversation {
    if (this.#attached === undefined) throw new Fault('internal', 'The server is not connected')
    return this.#attached
  }

  #answer(id: JsonText, outcome: Answer): void {
    if (outcome.kind === 'result') this.#conversation.reply(id, outcome.result)
    else this.#conversation.refuse(id, outcome.kind === 'error' ? outcome.error : encodeFault(outcome.fault))
  }

  #withdraw(params: JsonText | undefined): void {
    const id = params === undefined ? undefined : memberOf(params, 'requestId')
    const key = id !== undefined && isId(id) ? idKey(id) : undefined
    const ask = key === undefined ? undefined : this.#serverRequests.get(key)
    if (key === undefined || ask === undefined) {
      this.#log.debug({}, 'ignoring a cancellation of a request that the server has not open')
      return
    }
    this.#serverRequests.delete(key)
    ask.withdraw(params && textMember(params, 'reason'))
  }
}

/** Asks for a task instead of a result (2025-11-25, basic/utilities/tasks). */
const withTask = (params: JsonText | undefined, ttlMs: number | undefined): JsonText | undefined =>
  ttlMs === undefined ? params : withMember(params ?? EMPTY, 'task', textOf({ ttl: ttlMs }))

/** A task, whether it was asked for or not: SDK clients from 1.12 on read it as an empty success. */
const isTask = (result: JsonText): boolean =>
  mayHold(result, '"task"') &&
  memberOf(result, 'content') === undefined &&
  memberOf(result, 'task') !== undefined

/** One request under way: what the conversation reports to, and what the caller cancels. */
class OutboundCall implements CallSink, DownstreamCall {
  readonly #id: number
  readonly #method: string
  readonly #sink: CallSink
  readonly #link: LegacyDownlink
  #over = false
  /** A progress token lives as long as the task of its request (2025-11-25, basic/utilities/tasks). */
  #isTask = false

  constructor(id: number, method: string, sink: CallSink, link: LegacyDownlink) {
    this.#id = id
    this.#method = method
    this.#sink = sink
    this.#link = link
  }

  progress(progress: Progress): void {
    if (!this.#over || this.#isTask) this.#sink.progress(progress)
  }

  ended(outcome: Outcome): void {
    if (this.#over) return
    this.#over = true
    if (outcome.kind === 'error' && hasBecomeModern(outcome.error)) {
      this.#link.replaced(() => this.#sink.ended(failed(notRun())))
      return
    }
    const repaired = this.#link.repaired(this.#method, outcome)
    if (repaired.kind === 'task') {
      this.#isTask = true
      this.#link.keep(this.#id, this)
    }
    this.#sink.ended(repaired)
  }

  cancel(reason: CancelReason): void {
    if (this.#isTask) this.#link.forget(this.#id)
    this.#isTask = false
    if (this.#over) return
    this.#over = true
    this.#link.callOff(this.#id, reason)
  }
}

/** As for a lost session: a request rejected for its version has done nothing. */
const notRun = (): Fault => new Fault('session-lost', 'The server no longer speaks this revision')

/** One request of the server; answered once, however often `answer` is called. */
class PushedServerRequest implements ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about: DownstreamCall | undefined
  readonly wantsProgress: boolean
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly #token: JsonText | undefined
  readonly #way: { answer(outcome: Answer): void; tell(method: string, params: JsonText): void }
  #over = false

  constructor(
    method: string,
    params: JsonText | undefined,
    about: DownstreamCall | undefined,
    way: { answer(outcome: Answer): void; tell(method: string, params: JsonText): void },
  ) {
    this.method = method
    this.params = params
    this.about = about
    this.#token = tokenOf(params)
    this.wantsProgress = this.#token !== undefined
    this.#way = way
  }

  answer(outcome: Answer): void {
    if (this.#over) return
    this.#over = true
    this.#way.answer(outcome)
  }

  progress(params: JsonText): void {
    if (this.#over || this.#token === undefined) return
    this.#way.tell('notifications/progress', withMember(params, 'progressToken', this.#token))
  }

  withdraw(reason: CancelReason): void {
    if (this.#over) return
    this.#over = true
    this.onWithdrawn?.(reason)
  }
}
