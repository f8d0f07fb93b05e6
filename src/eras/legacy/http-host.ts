import type { Clock } from '../../kernel/clock.js'
import type { Principal } from '../../model/peer.js'
import { isLegacyRevision } from '../../model/revision.js'
import { tokenOf } from '../../rpc/progress-token.js'
import { type Classified, classify } from '../../wire/classify.js'
import type { HttpHandler, HttpRequest, HttpResponder } from '../../wire/http.js'
import type { Message } from '../../wire/jsonrpc.js'
import { LIMITS } from '../../wire/limits.js'
import { accepts, mediaTypeOf } from '../../wire/media-type.js'
import { arrayOf, batchRefusal, isAnswered, runBatch, SILENT } from './batch.js'
import { refuse } from './http-refusal.js'
import { HttpSession, HttpSessions } from './http-sessions.js'
import type { LiveStream } from './http-streams.js'
import type { UplinkOptions } from './uplink.js'

const KEEP_ALIVE_MS = 15_000
const SWEEP_MS = 1000

/** What the HTTP face needs beside what every uplink needs. */
export interface HttpHostOptions extends UplinkOptions {
  readonly clock: Clock
  /** Whose request this is. */
  readonly principalOf: (request: HttpRequest) => Principal
}

/** A face that must be closed when the proxy ends. */
export interface HttpHost {
  readonly handle: HttpHandler
  readonly sessions: number
  close(): void
}

/** Requests during which servers are likely to say something before they answer. */
const TALKATIVE: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** The Streamable HTTP face of the revisions with sessions (2025-03-26 to 2025-11-25, basic/transports): one endpoint. */
export const createHttpHost = (options: HttpHostOptions): HttpHost => {
  const sessions = new HttpSessions(options.clock)
  const live = new Set<LiveStream>()
  const timers = [
    options.clock.every(KEEP_ALIVE_MS, () => {
      for (const stream of [...live]) stream.keepAlive()
    }),
    options.clock.every(SWEEP_MS, () => sessions.sweep()),
  ]
  const face = new HttpFace(options, sessions, live)
  let isClosed = false
  return {
    handle(request, responder) {
      if (isClosed) refuse(responder, 503, 'The proxy is shutting down', { code: -32603 })
      else face.handle(request, responder)
    },
    get sessions() {
      return sessions.size
    },
    close() {
      isClosed = true
      for (const timer of timers) timer.cancel()
      sessions.close('the proxy is shutting down')
    },
  }
}

class HttpFace {
  readonly #options: HttpHostOptions
  readonly #sessions: HttpSessions
  readonly #live: Set<LiveStream>

  constructor(options: HttpHostOptions, sessions: HttpSessions, live: Set<LiveStream>) {
    this.#options = options
    this.#sessions = sessions
    this.#live = live
  }

  handle(request: HttpRequest, responder: HttpResponder): void {
    switch (request.method) {
      case 'POST':
        this.#post(request, responder)
        return
      case 'GET':
        this.#get(request, responder)
        return
      case 'DELETE':
        this.#delete(request, responder)
        return
      default:
        refuse(responder, 405, 'Use POST, GET or DELETE', {
          headers: { allow: 'GET, POST, DELETE' },
        })
    }
  }

  // ── POST: a message of the client ──

  #post(request: HttpRequest, responder: HttpResponder): void {
    if (mediaTypeOf(request.headers['content-type']) !== 'application/json') {
      refuse(responder, 415, 'Content-Type must be application/json')
      return
    }
    if (!takesJson(request) && !takesStreams(request)) {
      refuse(responder, 406, 'Accept must list application/json and text/event-stream')
      return
    }
    const classified = classify(request.body)
    if (classified.is === 'malformed' && !classified.answers) {
      refuse(responder, 400, classified.why, classified)
    } else if (classified.is === 'message' && isInitialize(classified.message)) {
      this.#initialize(classified.message, request, responder)
    } else {
      this.#inSession(classified, request, responder)
    }
  }

  #initialize(message: Message, request: HttpRequest, responder: HttpResponder): void {
    const { principalOf, clock, log, reception, identity } = this.#options
    const existing = request.headers['mcp-session-id']
    const known = existing === undefined ? undefined : this.#sessions.find(existing, principalOf(request))
    if (known !== undefined) {
      known.uplink.receive(message, known.post(responder, 'json'))
      return
    }
    if (!this.#sessions.makeRoom()) {
      refuse(responder, 503, 'Too many sessions; try again later', {
        code: -32603,
        headers: { 'retry-after': '5' },
      })
      return
    }
    const session = new HttpSession(principalOf(request), this.#live, { clock, log, reception, identity })
    const post = session.post(responder, takesJson(request) ? 'json' : 'streams')
    session.uplink.receive(message, post)
    // Refused introductions leave no session behind; accepted ones count from now on, before their answer is ready.
    if (!session.uplink.isKnown) return
    this.#sessions.add(session)
    if (!takesJson(request)) post.startStream()
  }

  #inSession(classified: Classified, request: HttpRequest, responder: HttpResponder): void {
    const session = this.#session(request, responder)
    if (session === undefined) return
    switch (classified.is) {
      case 'batch':
        this.#batch(classified.items, session, request, responder)
        return
      case 'malformed':
        refuse(responder, 400, classified.why, { code: classified.code })
        return
      case 'message':
        this.#message(classified.message, session, request, responder)
    }
  }

  #message(message: Message, session: HttpSession, request: HttpRequest, responder: HttpResponder): void {
    if (message.kind !== 'request') {
      responder.send(202, {})
      session.uplink.receive(message, SILENT)
      return
    }
    const post = session.post(responder, takesStreams(request) ? 'streams' : 'json')
    if (this.#isStreamed(message, session, request)) post.startStream()
    session.uplink.receive(message, post)
  }

  /** Whether to answer as a stream from the start: when progress was asked for, or when a question is likely. */
  #isStreamed(message: Message & { kind: 'request' }, session: HttpSession, request: HttpRequest): boolean {
    if (!takesJson(request)) return true
    if (!TALKATIVE.has(message.method) || !takesStreams(request)) return false
    const { roots, sampling, elicitation } = session.uplink.capabilities
    const isInteractive = roots !== undefined || sampling !== undefined || elicitation !== undefined
    return isInteractive || tokenOf(message.params) !== undefined
  }

  #batch(
    items: readonly Classified[],
    session: HttpSession,
    request: HttpRequest,
    responder: HttpResponder,
  ): void {
    const refusal = batchRefusal(items, session.uplink)
    if (refusal !== undefined) {
      refuse(responder, 400, refusal)
      return
    }
    if (!items.some(isAnswered)) responder.send(202, {})
    const isStreamed = takesStreams(request)
    const post = items.some(isAnswered) ? session.post(responder, isStreamed ? 'streams' : 'json') : undefined
    const answers: Buffer[] = []
    runBatch(items, session.uplink, {
      canAsk: isStreamed,
      related: frame => post?.send(frame),
      // One event per answer: SDK clients drop an array inside an event.
      answered: frame => (isStreamed ? post?.send(frame) : answers.push(frame)),
      done: () => post?.end(answers.length > 0 ? arrayOf(answers) : undefined),
    })
  }

  // ── GET: the standalone stream, or a broken one taken up; DELETE: the end ──

  #get(request: HttpRequest, responder: HttpResponder): void {
    if (request.headers.accept === undefined || !accepts(request.headers.accept, 'text/event-stream')) {
      refuse(responder, 406, 'Accept must list text/event-stream')
      return
    }
    const session = this.#session(request, responder)
    if (session === undefined) return
    const last = request.headers['last-event-id']
    if (last === undefined) session.listen(responder)
    else if (last.length > LIMITS.handleBytes || !session.resume(last, responder)) {
      refuse(responder, 400, 'Cannot resume after this event')
    }
  }

  #delete(request: HttpRequest, responder: HttpResponder): void {
    const session = this.#session(request, responder)
    if (session === undefined) return
    this.#sessions.end(session, 'the client ended the session')
    responder.send(200, {})
  }

  /** The session that a request names; answers 400 or 404 itself if there is none (transports, "Session Management"). */
  #session(request: HttpRequest, responder: HttpResponder): HttpSession | undefined {
    const id = request.headers['mcp-session-id']
    if (id === undefined) {
      refuse(responder, 400, 'Mcp-Session-Id header is missing: send initialize first')
      return undefined
    }
    const session =
      id.length > LIMITS.handleBytes ? undefined : this.#sessions.find(id, this.#options.principalOf(request))
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

const isInitialize = (message: Message): boolean =>
  message.kind === 'request' && message.method === 'initialize'

const takesJson = ({ headers }: HttpRequest): boolean => accepts(headers.accept, 'application/json')

const takesStreams = ({ headers }: HttpRequest): boolean => accepts(headers.accept, 'text/event-stream')
