import type { RenewCaller } from '../../kernel/caller.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import { NO_CAPABILITIES } from '../../model/peer.js'
import { faultText } from '../../model/rpc-error.js'
import type { ListenerOptions } from '../../rpc/host.js'
import { refuseRequest, refuseWith } from '../../rpc/http/errors.js'
import { endpointPath, referenceFrom } from '../../wire/http/endpoint-path.js'
import { acceptedTypes, mediaTypeOf } from '../../wire/http/headers.js'
import type { HttpHandler, HttpRequest, HttpResponder } from '../../wire/http.js'
import { classifyInbound } from '../detect/inbound.js'
import { SessionQuota } from '../legacy/client-side/session-quota.js'
import { SseSession } from '../legacy/client-side/sse-session.js'
import { type PipeListener, servePipe } from './pipe-listener.js'

const KEEP_ALIVE_MS = 15_000
const SWEEP_MS = 1000
/** The revision of the transport. */
const FIRST = '2024-11-05'

/** The two endpoints of HTTP+SSE; close them when the proxy ends. */
export interface SseListener {
  /** GET opens a session and its stream; usually at `/sse`. */
  readonly stream: HttpHandler
  /** POST handles one message of the client. */
  readonly messages: HttpHandler
  /** Handles a message forwarded by another replica. */
  readonly relayed: HttpHandler
  /** Returns whether a session is here. */
  has(id: string): boolean
  readonly sessions: number
  /** Applies new rules: ends sessions whose credential is no longer valid. */
  renewCallers(renew: RenewCaller): void
  close(): void
}

interface Served {
  readonly session: SseSession
  readonly pipe: PipeListener
  readonly view: string | undefined
}

/** Serves the HTTP+SSE transport (2024-11-05, basic/transports): one endpoint to listen, one to send. */
export const createSseListener = (options: ListenerOptions): SseListener => {
  const { clock, relay } = options
  const served = new Map<string, Served>()
  const endpoints = new SseEndpoints(options, served)
  const timers = [
    clock.every(KEEP_ALIVE_MS, () => {
      for (const { session } of [...served.values()]) session.keepAlive()
    }),
    clock.every(SWEEP_MS, () => {
      for (const { session } of [...served.values()]) session.sweep()
    }),
  ]
  return {
    stream: (request, responder) => endpoints.stream(request, responder),
    messages: (request, responder) => {
      const id = request.query.get('sessionId') ?? ''
      const serve: HttpHandler = (...served) => endpoints.message(...served)
      // A session ends with its stream, so no other replica can take it over.
      if (relay === undefined || served.has(id) || !relay.session(id, { request, responder, serve }))
        serve(request, responder)
    },
    relayed: (request, responder) => endpoints.message(request, responder),
    has: id => served.has(id),
    get sessions() {
      return served.size
    },
    renewCallers(renew) {
      for (const { pipe } of [...served.values()]) pipe.renewCallers(renew)
    },
    close() {
      for (const timer of timers) timer.cancel()
      for (const { pipe } of [...served.values()]) void pipe.close('the proxy is shutting down')
    },
  }
}

class SseEndpoints {
  readonly #options: ListenerOptions
  readonly #served: Map<string, Served>
  readonly #bounds: LimitCounters
  /** Each session has an open stream, so none can be ended to make room. */
  readonly #quota: SessionQuota

  constructor(options: ListenerOptions, served: Map<string, Served>) {
    this.#options = options
    this.#served = served
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#quota = new SessionQuota(this.#bounds)
  }

  /** Opens a session, which lives as long as its stream. */
  stream(request: HttpRequest, responder: HttpResponder): void {
    if (request.method !== 'GET') {
      refuseRequest(responder, 405, 'Use GET', { headers: { allow: 'GET' } })
    } else if (!acceptedTypes(request.headers).events) {
      refuseRequest(responder, 406, 'Accept must list text/event-stream')
    } else {
      const { caller } = request
      const full = this.#quota.faultFor(caller.principal)
      if (full === undefined) this.#open(request, responder)
      else refuseWith(responder, 503, { id: undefined, error: faultText(full) }, { 'retry-after': '5' })
    }
  }

  #open(request: HttpRequest, responder: HttpResponder): void {
    const { caller } = request
    const { principal } = caller
    const { clock, log } = this.#options
    const path = referenceFrom(request.path, endpointPath('/messages', caller.view))
    const id = this.#options.directory?.newId({ principal, revision: FIRST, capabilities: NO_CAPABILITIES })
    const session = new SseSession(responder, path, { id, principal, clock, log, bounds: this.#bounds })
    const pipe = servePipe(session, caller, { ...this.#options, speaks: 'legacy', arrival: request })
    this.#served.set(session.id, { session, pipe, view: caller.view })
    this.#quota.add(principal)
    void pipe.gone.then(() => {
      if (this.#served.delete(session.id)) this.#quota.remove(principal)
    })
  }

  message(request: HttpRequest, responder: HttpResponder): void {
    if (request.method !== 'POST') {
      refuseRequest(responder, 405, 'Use POST', { headers: { allow: 'POST' } })
      return
    }
    if (mediaTypeOf(request.headers['content-type']) !== 'application/json') {
      this.#options.refused?.('malformed')
      refuseRequest(responder, 415, 'Content-Type must be application/json')
      return
    }
    const { body, caller } = request
    const served = this.#find(request)
    if (served === undefined) {
      refuseRequest(responder, 404, 'Session not found: open the event stream to start a new one')
      return
    }
    const { session, pipe } = served
    const classified = classifyInbound(body, this.#bounds, this.#options.refused)
    // Valid JSON is always for the session, which it keeps alive and which answers on its stream.
    if (classified.is === 'malformed' && classified.code === -32700) {
      refuseRequest(responder, 400, classified.why, { code: -32700 })
    } else if (!session.hasRoomFor(body.length)) {
      refuseRequest(responder, 429, 'Read the event stream before you send more', {
        headers: { 'retry-after': '1' },
      })
    } else {
      responder.send(202, { 'content-type': 'text/plain' }, 'Accepted')
      session.receive(body.length, () => pipe.take(body, classified, caller))
    }
  }

  /** Returns the session that a request names, unless it belongs to another principal or view. */
  #find(request: HttpRequest): Served | undefined {
    const served = this.#served.get(request.query.get('sessionId') ?? '')
    const { principal, view } = request.caller
    return served?.session.principal === principal && served.view === view ? served : undefined
  }
}
