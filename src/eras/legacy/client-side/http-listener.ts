import type { Clock } from '../../../kernel/async/clock.js'
import type { Caller, Principal, RenewCaller } from '../../../kernel/caller.js'
import type { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import { LinkedList } from '../../../kernel/linked-list.js'
import { insufficientScope } from '../../../model/access.js'
import { isLegacyRevision } from '../../../model/revision.js'
import { faultText } from '../../../model/rpc-error.js'
import type { Adopted, SessionDirectory, SessionHost } from '../../../rpc/directory.js'
import { type ListenerOptions, REVOKED } from '../../../rpc/host.js'
import { refuse, refuseForScopes, refuseWith, statusOfFull } from '../../../rpc/http/errors.js'
import { tokenOf } from '../../../rpc/progress-token.js'
import { SessionQuota } from '../../../rpc/session-quota.js'
import type { Classified } from '../../../wire/classify.js'
import type { AcceptedTypes, HttpExchange } from '../../../wire/http.js'
import type { Message } from '../../../wire/jsonrpc.js'
import { batchError, isAnswered, runBatch, SILENT, toolCallsIn } from './batch.js'
import { HttpSession, type HttpShared, REST_MS } from './http-session.js'
import { ReplayTotal } from './replay.js'
import { sayAgain } from './session-state.js'

/** An `Mcp-Session-Id` or `Last-Event-ID` that is longer cannot be ours. */
const HANDLE_CHARS = 256

/** Requests during which servers are likely to send notifications or requests. */
const TALKATIVE: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Serves an endpoint for the revisions with sessions (2025-03-26 to 2025-11-25, "Streamable HTTP"). */
export class LegacyHttpListener implements SessionHost {
  readonly #options: ListenerOptions
  readonly #sessions: HttpSessions
  readonly #shared: HttpShared
  readonly #bounds: LimitCounters

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#sessions = new HttpSessions(options.clock, this.#bounds, options.directory)
    this.#shared = { live: new LinkedList(), kept: this.#sessions.kept }
    options.directory?.host(this)
  }

  get sessions(): number {
    return this.#sessions.size
  }

  /** Whether a session is here, whoever asks. */
  has(id: string): boolean {
    return this.#sessions.has(id)
  }

  /** Goes on with a session that another replica had. */
  restore(adopted: Adopted): void {
    const { id, record, caller } = adopted
    if (this.#sessions.has(id)) return
    const session = new HttpSession(caller, this.#shared, this.#options, adopted)
    sayAgain(session, record)
    if (session.uplink.isKnown) this.#add(session)
  }

  letGo(id: string): boolean {
    return this.#sessions.letGo(id)
  }

  /** Lets go of a session that another replica has by now. */
  drop(id: string): void {
    this.#sessions.drop(id)
  }

  /** Ends the streams of all sessions, which stay. */
  release(): void {
    this.#sessions.release()
  }

  #add(session: HttpSession): void {
    this.#sessions.add(session)
    if (session.state?.isKept === true) session.opened()
  }

  /** Writes a keep-alive comment to every open stream. */
  keepAlive(): void {
    for (const stream of this.#shared.live) stream.keepAlive()
  }

  /** Ends sessions that have been idle for too long; called periodically. */
  sweep(): void {
    this.#sessions.sweep()
  }

  /** Frees memory: ends sessions that seem abandoned, then drops what is kept for replay. */
  shed(): void {
    this.#sessions.shed()
    if (this.#bounds.pressure >= 3) this.#sessions.kept.clear()
  }

  /** Applies other rules: sessions end whose credential is no longer good. */
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
    const known = existing === undefined ? undefined : this.#sessions.find(existing, caller)
    if (known !== undefined) {
      known.uplink.receive(message, known.post(responder, 'json'))
      return
    }
    const full = this.#sessions.makeRoom(caller.principal)
    if (full !== undefined) {
      const id = message.kind === 'request' ? message.id : undefined
      refuseWith(responder, 503, { id, error: faultText(full) }, { 'retry-after': '5' })
      return
    }
    const session = new HttpSession(caller, this.#shared, this.#options)
    session.state?.introduced(message.kind === 'request' ? message.params : undefined)
    const post = session.post(responder, accepts.json ? 'json' : 'streams')
    post.arrival = request
    if (message.kind === 'request') post.requestId = message.id
    session.uplink.receive(message, post)
    // A rejected `initialize` leaves no session; an accepted one counts before its answer is ready.
    if (!session.uplink.isKnown) return
    this.#add(session)
    if (!accepts.json) post.startStream()
  }

  /** Takes any other message, in the session that it names. */
  message(message: Message, exchange: HttpExchange): void {
    const { request, responder, accepts } = exchange
    const session = this.#session(exchange)
    if (session === undefined) return
    if (message.kind !== 'request') {
      responder.send(202, {})
      session.uplink.receive(message, SILENT)
      return
    }
    const full = session.fullFault()
    if (full !== undefined) {
      const { status = 429, headers } = statusOfFull(full) ?? {}
      refuseWith(responder, status, { id: message.id, error: faultText(full) }, headers)
      return
    }
    const post = session.post(responder, accepts.events ? 'streams' : 'json')
    post.arrival = request
    post.requestId = message.id
    session.state?.note(message)
    // Once a stream has begun, a rejection has no status of its own.
    if (!accepts.json) post.startStream()
    session.uplink.receive(message, post)
    // Nor has one with scopes to be checked, before they are.
    const isChecked = request.caller.scopes === undefined || session.uplink.isRouted(message.id)
    if (isChecked && isStreamed(message, session, accepts)) post.startStreamIfOpen()
  }

  /** Takes an array of messages, in the session that it names. */
  batch(items: readonly Classified[], exchange: HttpExchange): void {
    const { responder } = exchange
    const session = this.#session(exchange)
    if (session === undefined) return
    const error = batchError(items, session.uplink)
    if (error !== undefined) {
      refuse(responder, 400, error)
      return
    }
    const { caller } = exchange.request
    const calls = caller.scopes === undefined ? [] : toolCallsIn(items)
    if (calls.length === 0) this.#run(items, session, exchange)
    else void this.#runIfAllowed(items, calls, session, exchange)
  }

  /** An HTTP status cannot be for a part: a batch is refused as a whole if one of its calls needs more. */
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
    if (refuseForScopes(exchange.responder, why, challenge)) return
    session.uplink.sentBy(caller)
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
    runBatch(items, session.uplink, post ?? SILENT, accepts.events ? undefined : this.#bounds.unread)
  }

  // ── GET: the standalone stream, or a broken one taken up; DELETE: the end ──

  get(exchange: HttpExchange): void {
    const { request, responder, accepts } = exchange
    if (request.headers.accept === undefined || !accepts.events) {
      refuse(responder, 406, 'Accept must list text/event-stream')
      return
    }
    const session = this.#session(exchange)
    if (session === undefined) return
    const last = request.headers['last-event-id']
    if (last === undefined) session.listen(responder)
    else if (last.length > HANDLE_CHARS || !session.resume(last, responder)) {
      refuse(responder, 400, 'Cannot resume after this event')
    }
  }

  delete(exchange: HttpExchange): void {
    const session = this.#session(exchange)
    if (session === undefined) return
    this.#sessions.end(session, 'the client ended the session')
    exchange.responder.send(200, {})
  }

  /**
   * Finds the session of a request; answers 400 or 404 if there is none (transports, "Session Management").
   */
  #session({ request, responder }: HttpExchange): HttpSession | undefined {
    const id = request.headers['mcp-session-id']
    if (id === undefined) {
      refuse(responder, 400, 'Mcp-Session-Id header is missing: send initialize first')
      return undefined
    }
    const session = id.length > HANDLE_CHARS ? undefined : this.#sessions.find(id, request.caller)
    if (session === undefined) {
      refuse(responder, 404, 'Session not found: send initialize to start a new one')
      return undefined
    }
    const version = request.headers['mcp-protocol-version']
    if (version !== undefined && !isLegacyRevision(version)) {
      refuse(responder, 400, 'Unsupported MCP-Protocol-Version')
      return undefined
    }
    return session
  }
}

/** Whether to stream from the start: progress was asked for, or a server request is likely. */
const isStreamed = (
  message: Message & { kind: 'request' },
  session: HttpSession,
  takes: AcceptedTypes,
): boolean => {
  if (!TALKATIVE.has(message.method) || !takes.events) return false
  const { roots, sampling, elicitation } = session.uplink.capabilities
  const isInteractive = roots !== undefined || sampling !== undefined || elicitation !== undefined
  return isInteractive || (message.named === undefined && tokenOf(message.params) !== undefined)
}

/** While memory is short, each sweep ends this part of the abandoned sessions, and at least so many. */
const SHED_PART = 8
const SHED_LEAST = 100

/** The sessions of one HTTP endpoint by their unguessable ids, each bound to its principal. */
export class HttpSessions {
  /** What all of them keep for replay. */
  readonly kept: ReplayTotal
  readonly #byId = new Map<string, HttpSession>()
  readonly #quota: SessionQuota
  readonly #bounds: LimitCounters
  readonly #clock: Clock
  readonly #directory: SessionDirectory | undefined

  constructor(clock: Clock, bounds: LimitCounters, directory?: SessionDirectory) {
    this.#clock = clock
    this.#directory = directory
    this.#bounds = bounds
    this.#quota = new SessionQuota(bounds)
    this.kept = new ReplayTotal(bounds)
  }

  get size(): number {
    return this.#byId.size
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  /** Finds a session by its id, unless it is another principal's, or of another view. */
  find(id: string, caller: Caller): HttpSession | undefined {
    const session = this.#byId.get(id)
    if (session?.uplink.principal !== caller.principal) return undefined
    if (session.uplink.view !== caller.view) return undefined
    session.used(caller)
    return session
  }

  /** Adds a session once its client has initialized. */
  add(session: HttpSession): void {
    this.#byId.set(session.id, session)
    this.#quota.came(session.uplink.principal)
  }

  /**
   * Makes room for one more session; returns a Fault if there is none. Only sessions of clients that seem
   * gone are ended: SDK clients do not initialize again.
   */
  makeRoom(principal: Principal): Fault | undefined {
    const limit = this.#quota.limitFor(principal)
    if (limit !== undefined) this.#forgetOne(limit === 'sessions' ? undefined : principal)
    return this.#quota.faultFor(principal)
  }

  #forgetOne(principal: Principal | undefined): void {
    const nowMs = this.#clock.nowMs()
    let oldest: HttpSession | undefined
    for (const session of this.#byId.values()) {
      if (principal !== undefined && session.uplink.principal !== principal) continue
      if (!session.isAbandoned(nowMs)) continue
      if (session.lastUsedMs < (oldest?.lastUsedMs ?? Number.POSITIVE_INFINITY)) oldest = session
    }
    if (oldest !== undefined) this.end(oldest, 'it made room for another')
  }

  /** Frees memory by ending the sessions that have been idle longest, a part of them each time. */
  shed(): void {
    const nowMs = this.#clock.nowMs()
    const abandoned = [...this.#byId.values()]
      .filter(session => session.isAbandoned(nowMs))
      .sort((one, other) => one.lastUsedMs - other.lastUsedMs)
    const count = Math.max(SHED_LEAST, abandoned.length / SHED_PART)
    for (const session of abandoned.slice(0, count)) this.end(session, 'memory is short')
  }

  end(session: HttpSession, reason: string): void {
    if (!this.#byId.delete(session.id)) return
    this.#quota.left(session.uplink.principal)
    this.#directory?.ended(session.id)
    session.close(reason)
  }

  /** Ends a session here that goes on elsewhere. */
  drop(id: string): void {
    const session = this.#byId.get(id)
    if (session === undefined || !this.#byId.delete(id)) return
    this.#quota.left(session.uplink.principal)
    session.moves()
    session.close('another replica has it now')
  }

  release(): void {
    for (const session of this.#byId.values()) session.release()
  }

  /** As `drop`, unless a request is under way. */
  letGo(id: string): boolean {
    if (this.#byId.get(id)?.uplink.isBusy === true) return false
    this.drop(id)
    return true
  }

  /** Ends sessions that have been idle for too long. */
  sweep(): void {
    const nowMs = this.#clock.nowMs()
    for (const session of this.#byId.values()) {
      session.expire()
      // Idle time begins when the last stream is gone, not with the request that opened it.
      if (!session.isIdle) session.lastUsedMs = nowMs
      else if (session.lastUsedMs < nowMs - REST_MS) session.rest()
      if (session.lastUsedMs < nowMs - this.#bounds.max.sessionIdle) {
        this.end(session, 'it was idle for too long')
      }
    }
  }

  renewCallers(renew: RenewCaller): void {
    for (const session of [...this.#byId.values()]) {
      const caller = renew(session.uplink.caller)
      if (caller === undefined) this.end(session, REVOKED)
      else session.uplink.sentBy(caller)
      session.releaseUnless(listening => renew(listening) !== undefined)
    }
  }

  /** With several replicas the sessions go on: whoever is asked next takes them over. */
  close(reason: string): void {
    for (const session of [...this.#byId.values()])
      if (this.#directory === undefined) this.end(session, reason)
      else this.drop(session.id)
  }
}
