import type { Caller, RenewCaller } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import { insufficientScope } from '../../../model/access.js'
import { isLegacyRevision } from '../../../model/revision.js'
import { faultText } from '../../../model/rpc-error.js'
import type { OrphanedSession, SessionHost } from '../../../rpc/adopted-session.js'
import type { ListenerOptions } from '../../../rpc/host.js'
import { overloadResponse, refuseForScopes, refuseRequest, refuseWith } from '../../../rpc/http/errors.js'
import { tokenIn } from '../../../rpc/progress-token.js'
import type { Classified } from '../../../wire/classify.js'
import type { HttpExchange, HttpResponder } from '../../../wire/http.js'
import { type Message, metaOf } from '../../../wire/jsonrpc.js'
import { batchError, isAnswered, NO_REPLY, runBatch, toolCallsIn } from './batch.js'
import { HttpSession } from './http-session.js'
import { HttpSessions } from './http-sessions.js'

/** A longer `Last-Event-ID` cannot be ours. */
const EVENT_ID_CHARS = 256

/** Requests during which servers are likely to send notifications or requests. */
const TALKATIVE: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Serves an endpoint for the revisions with sessions (2025-03-26 to 2025-11-25, "Streamable HTTP"). */
export class LegacyHttpListener implements SessionHost {
  readonly #options: ListenerOptions
  readonly #sessions: HttpSessions
  readonly #bounds: LimitCounters

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#sessions = new HttpSessions(options.clock, this.#bounds, options.directory !== undefined)
    options.directory?.host(this)
  }

  get sessions(): number {
    return this.#sessions.byId.size
  }

  /** Returns whether a session is here, regardless of its owner. */
  has(id: string): boolean {
    return this.#sessions.byId.has(id)
  }

  /** Takes over a session from another replica or an earlier process. */
  restore({ id, caller, adopt }: OrphanedSession): void {
    if (this.#sessions.byId.has(id)) return
    const session = new HttpSession(caller, this.#sessions.kept, this.#options, adopt)
    session.adopted?.replay()
    if (session.uplink.isKnown) void this.#add(session)
  }

  handOver(id: string): boolean {
    return this.#sessions.handOver(id)
  }

  /** Drops a session that another replica has taken over. */
  drop(id: string): void {
    this.#sessions.drop(id)
  }

  /** Ends the streams of all sessions, but keeps the sessions. */
  release(): void {
    this.#sessions.release()
  }

  async #add(session: HttpSession): Promise<void> {
    this.#sessions.add(session)
    await session.adopted?.opened?.()
  }

  /** Writes a keep-alive comment to every open stream. */
  keepAlive(): void {
    this.#sessions.keepAlive()
  }

  /** Ends sessions that have been idle for too long; called periodically. */
  sweep(): void {
    this.#sessions.sweep()
  }

  /** Frees memory: ends sessions that seem abandoned, then drops the replay buffers. */
  shed(): void {
    this.#sessions.shed()
    if (this.#bounds.pressure >= 3) this.#sessions.kept.clear()
  }

  /** Applies new rules: ends sessions whose credential is no longer valid. */
  renewCallers(renew: RenewCaller): void {
    this.#sessions.renewCallers(renew)
  }

  close(reason: string): void {
    this.#sessions.close(reason)
  }

  // ── POST: messages of the client ──

  /** Takes `initialize`: the session begins. */
  initialize(message: Message, { request, responder, accepts }: HttpExchange): void {
    const { caller } = request
    const existing = request.headers['mcp-session-id']
    const known = existing === undefined ? undefined : this.#find(existing, caller)
    if (known !== undefined) {
      known.uplink.receive(message, known.post(responder, 'json'))
      return
    }
    const { directory } = this.#options
    const begin = (answer: HttpResponder, elsewhere: number): Promise<void> =>
      this.#begin(message, { request, responder: answer, accepts }, elsewhere)
    if (directory === undefined) void begin(responder, 0)
    else directory.begin(caller.principal, responder, begin)
  }

  /**
   * Begins a session if there is room; `elsewhere` counts the principal's sessions at other replicas.
   * Resolves once the client may get its answer.
   */
  async #begin(
    message: Message,
    { request, responder, accepts }: HttpExchange,
    elsewhere: number,
  ): Promise<void> {
    const full = this.#sessions.makeRoom(request.caller.principal, elsewhere)
    if (full !== undefined) {
      refuseFull(responder, message.kind === 'request' ? message.id : undefined, full)
      return
    }
    const session = new HttpSession(request.caller, this.#sessions.kept, this.#options)
    session.adopted?.initialized(message.kind === 'request' ? message.params : undefined)
    const post = session.post(responder, accepts.json ? 'json' : 'streams')
    post.arrival = request
    if (message.kind === 'request') post.requestId = message.id
    session.uplink.receive(message, post)
    // A rejected `initialize` leaves no session; an accepted one counts before its answer is ready.
    if (!session.uplink.isKnown) return
    if (!accepts.json) post.startStream()
    await this.#add(session)
  }

  /** Takes any other message, in the session that it names. */
  message(message: Message, exchange: HttpExchange): void {
    const { request, responder, accepts } = exchange
    const session = this.#session(exchange)
    if (session === undefined) return
    if (message.kind !== 'request') {
      responder.send(202, {})
      session.uplink.receive(message, NO_REPLY)
      return
    }
    const full = session.fullFault()
    if (full !== undefined) {
      const { status = 429, headers } = overloadResponse(full) ?? {}
      refuseWith(responder, status, { id: message.id, error: faultText(full) }, headers)
      return
    }
    const post = session.post(responder, accepts.events ? 'streams' : 'json')
    post.arrival = request
    post.requestId = message.id
    session.adopted?.requested?.(message)
    // Once a stream has started, a rejection cannot have its own HTTP status.
    if (!accepts.json) post.startStream()
    session.uplink.receive(message, post)
    // A forwarding replica, which may stop at any time, must know at once that it forwards a stream.
    const mayWait = this.#options.relay === undefined
    if (isStreamed(message, session, exchange)) post.expectStream(mayWait)
  }

  /** Takes an array of messages, in the session that it names. */
  batch(items: readonly Classified[], exchange: HttpExchange): void {
    const { responder } = exchange
    const session = this.#session(exchange)
    if (session === undefined) return
    const error = batchError(items, session.uplink)
    if (error !== undefined) {
      refuseRequest(responder, 400, error)
      return
    }
    const { caller } = exchange.request
    const calls = caller.scopes === undefined ? [] : toolCallsIn(items)
    if (calls.length === 0) this.#run(items, session, exchange)
    else void this.#runIfAllowed(items, calls, session, exchange)
  }

  /** An HTTP status applies to the whole batch, so it is rejected as a whole if one call lacks scopes. */
  async #runIfAllowed(
    items: readonly Classified[],
    calls: readonly JsonText[],
    session: HttpSession,
    exchange: HttpExchange,
  ): Promise<void> {
    const { caller } = exchange.request
    const { handler, challenge } = this.#options
    const lacking = await handler.lackingScopes({ client: session.uplink, caller }, calls)
    const why = lacking.length === 0 ? undefined : insufficientScope(lacking)
    if (refuseForScopes(exchange.responder, why, scopes => challenge?.(scopes, caller))) return
    session.uplink.setCaller(caller)
    this.#run(items, session, exchange)
  }

  #run(
    items: readonly Classified[],
    session: HttpSession,
    { request, responder, accepts }: HttpExchange,
  ): void {
    const isAsking = items.some(isAnswered)
    if (!isAsking) responder.send(202, {})
    const post = isAsking ? session.post(responder, accepts.events ? 'streams' : 'json') : undefined
    if (post !== undefined) post.arrival = request
    runBatch(items, session.uplink, post ?? NO_REPLY, accepts.events ? undefined : this.#bounds.unread)
  }

  // ── GET: opens or resumes a stream; DELETE: ends the session ──

  get(exchange: HttpExchange): void {
    const { request, responder, accepts } = exchange
    if (request.headers.accept === undefined || !accepts.events) {
      refuseRequest(responder, 406, 'Accept must list text/event-stream')
      return
    }
    const session = this.#session(exchange)
    if (session === undefined) return
    const last = request.headers['last-event-id']
    if (last === undefined) session.listen(responder)
    else if (last.length > EVENT_ID_CHARS || !session.resume(last, responder)) {
      refuseRequest(responder, 400, 'Cannot resume after this event')
    }
  }

  delete(exchange: HttpExchange): void {
    const { request, responder } = exchange
    const { seals } = this.#options
    const id = request.headers['mcp-session-id'] ?? ''
    if (!this.#sessions.byId.has(id) && seals?.open(id, request.caller) !== undefined) seals.end(id)
    else {
      const session = this.#session(exchange)
      if (session === undefined) return
      this.#sessions.end(session, 'the client ended the session', true)
    }
    responder.send(200, {})
  }

  /** Returns a session by its id, unless it belongs to another principal or view. */
  #find(id: string, caller: Caller): HttpSession | undefined {
    const session = this.#sessions.byId.get(id)
    return session?.takesFrom(caller) === true ? session : undefined
  }

  /**
   * Finds the session of a request; answers 400, 404 or 503 without one (transports, "Session Management").
   */
  #session({ request, responder }: HttpExchange): HttpSession | undefined {
    const id = request.headers['mcp-session-id']
    if (id === undefined) {
      refuseRequest(responder, 400, 'Mcp-Session-Id header is missing: send initialize first')
      return undefined
    }
    const { caller } = request
    const session = this.#find(id, caller) ?? this.#restored(id, caller)
    if (session === undefined) {
      refuseRequest(responder, 404, 'Session not found: send initialize to start a new one')
      return undefined
    }
    if (session instanceof Fault) {
      refuseFull(responder, undefined, session)
      return undefined
    }
    const version = request.headers['mcp-protocol-version']
    if (version !== undefined && !isLegacyRevision(version)) {
      refuseRequest(responder, 400, 'Unsupported MCP-Protocol-Version')
      return undefined
    }
    return session
  }

  /**
   * Restores the session of an earlier process, or one that a limit ended. Returns a Fault without room.
   */
  #restored(id: string, caller: Caller): HttpSession | Fault | undefined {
    // Another principal's session is live.
    const sealed = this.#sessions.byId.has(id) ? undefined : this.#options.seals?.open(id, caller)
    if (sealed === undefined) return undefined
    const full = this.#sessions.makeRoom(caller.principal, 0)
    if (full !== undefined) return full
    this.restore(sealed)
    return this.#find(id, caller) ?? this.#bounds.shortOfMemory()
  }
}

/** Refuses a request that needs a new session. */
const refuseFull = (responder: HttpResponder, id: JsonText | undefined, full: Fault): void =>
  refuseWith(responder, 503, { id, error: faultText(full) }, { 'retry-after': '5' })

/** Returns whether to stream from the start: progress was requested, or a server request is likely. */
const isStreamed = (
  message: Message & { kind: 'request' },
  session: HttpSession,
  { accepts, request }: HttpExchange,
): boolean => {
  if (!TALKATIVE.has(message.method) || !accepts.events) return false
  // Scopes must be checked first: once a stream has started, a rejection cannot have its own HTTP status.
  if (request.caller.scopes !== undefined && !session.uplink.isRouted(message.id)) return false
  const meta = metaOf(message)
  return session.uplink.canAnswer || (meta !== undefined && tokenIn(meta) !== undefined)
}
