import type { RenewCaller } from '../../kernel/caller.js'
import { textMember } from '../../kernel/json/text.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { ListenerOptions } from '../../rpc/host.js'
import { refuseRequest, refuseWith } from '../../rpc/http/errors.js'
import { acceptedTypes, mediaTypeOf } from '../../wire/http/headers.js'
import type { HttpExchange, HttpHandler } from '../../wire/http.js'
import type { Message } from '../../wire/jsonrpc.js'
import type { Relay } from '../../wire/relay.js'
import { classifyInbound, eraOf } from '../detect/inbound.js'
import { LegacyHttpListener } from '../legacy/client-side/http-listener.js'
import { ModernHttpListener } from '../modern/client-side/http-listener.js'

const KEEP_ALIVE_MS = 15_000
const SWEEP_MS = 1000

/** An MCP endpoint over HTTP; close it when the proxy ends. */
export interface HttpListener {
  readonly handle: HttpHandler
  /** Serves a request forwarded by another replica: for a local session, or a call waiting here. */
  readonly relayed: HttpHandler
  /** Returns whether a session of a legacy client is here. */
  has(id: string): boolean
  /** Sessions of legacy clients; modern requests have none. */
  readonly sessions: number
  /** Frees memory by ending sessions that seem abandoned. */
  shed(): void
  /** Applies new rules: ends sessions and streams whose credential is no longer valid. */
  renewCallers(renew: RenewCaller): void
  close(): void
}

/**
 * Serves clients of all revisions on one endpoint; the era is detected per message (2026-07-28,
 * basic/versioning).
 */
export const createHttpListener = (options: ListenerOptions): HttpListener => {
  const legacy = new LegacyHttpListener(options)
  const modern = new ModernHttpListener(options)
  const { bounds = new LimitCounters(), clock } = options
  const timers = [
    clock.every(KEEP_ALIVE_MS, () => {
      legacy.keepAlive()
      modern.keepAlive()
    }),
    clock.every(SWEEP_MS, () => {
      legacy.sweep()
      modern.sweep()
    }),
  ]
  const { relay, refused } = options
  let isClosed = false
  const serving =
    (listeners: Listeners): HttpHandler =>
    (request, responder) => {
      const exchange = { request, responder, accepts: acceptedTypes(request.headers) }
      if (isClosed) refuseRequest(responder, 503, 'The proxy is shutting down', { code: -32603 })
      else if (request.method === 'GET') legacy.get(exchange)
      else if (request.method === 'DELETE') legacy.delete(exchange)
      else if (request.method !== 'POST')
        refuseRequest(responder, 405, 'Use POST, GET or DELETE', { headers: { allow: 'GET, POST, DELETE' } })
      else if (passesGuards(exchange)) post(listeners, exchange)
      else refused?.('malformed')
    }
  const serve = serving({ legacy, modern, bounds, refused })
  const elsewhere = relay && { relay, serve }
  return {
    handle:
      elsewhere === undefined
        ? serve
        : relaying(elsewhere, legacy, serving({ legacy, modern, bounds, refused, elsewhere })),
    relayed: serve,
    has: id => legacy.has(id),
    get sessions() {
      return legacy.sessions
    },
    shed() {
      legacy.shed()
    },
    renewCallers(renew) {
      legacy.renewCallers(renew)
      modern.renewCallers(renew)
    },
    close() {
      isClosed = true
      for (const timer of timers) timer.cancel()
      legacy.close('the proxy is shutting down')
      modern.close('the proxy is shutting down')
    },
  }
}

/** Forwards a request before reading its body, which is the other replica's task. */
const relaying =
  ({ relay, serve }: Elsewhere, legacy: LegacyHttpListener, ours: HttpHandler): HttpHandler =>
  (request, responder) => {
    const id = request.headers['mcp-session-id']
    const isHere = id === undefined || (relay.isSure && legacy.has(id))
    if (isHere || !relay.session(id, { request, responder, serve })) ours(request, responder)
  }

/** The relay to other replicas, and the local handler for requests that belong here after all. */
interface Elsewhere {
  readonly relay: Relay
  readonly serve: HttpHandler
}

interface Listeners {
  readonly legacy: LegacyHttpListener
  readonly modern: ModernHttpListener
  readonly bounds: LimitCounters
  readonly refused: ListenerOptions['refused']
  readonly elsewhere?: Elsewhere | undefined
}

const passesGuards = ({ request: { headers }, responder, accepts }: HttpExchange): boolean => {
  if (mediaTypeOf(headers['content-type']) !== 'application/json') {
    refuseRequest(responder, 415, 'Content-Type must be application/json')
    return false
  }
  if (accepts.json || accepts.events) return true
  refuseRequest(responder, 406, 'Accept must list application/json and text/event-stream')
  return false
}

const post = ({ legacy, modern, bounds, elsewhere, refused }: Listeners, exchange: HttpExchange): void => {
  const { request, responder } = exchange
  const verdict = eraOf(classifyInbound(request.body, bounds, refused), request.headers)
  switch (verdict.is) {
    case 'modern':
      if (elsewhere === undefined || !isParkedIn(elsewhere, verdict.message, exchange))
        modern.message(verdict.message, exchange)
      return
    case 'initialize':
      if (elsewhere === undefined || !elsewhere.relay.begin({ ...exchange, serve: elsewhere.serve }))
        legacy.initialize(verdict.message, exchange)
      return
    case 'legacy':
      legacy.message(verdict.message, exchange)
      return
    case 'legacy-batch':
      legacy.batch(verdict.items, exchange)
      return
    case 'malformed': {
      // The id of an answer is one of ours: a response must not be answered.
      const { code, why, id, isResponse } = verdict
      refuseRequest(responder, 400, why, { code, id: isResponse ? undefined : id })
      return
    }
    case 'refused':
      refuseWith(responder, verdict.status, verdict)
  }
}

/**
 * Forwards a retry to the replica where its call waits, if its state names one (2026-07-28,
 * basic/patterns/mrtr).
 */
const isParkedIn = ({ relay, serve }: Elsewhere, message: Message, exchange: HttpExchange): boolean => {
  const state = message.kind === 'request' && message.params && textMember(message.params, 'requestState')
  return typeof state === 'string' && relay.parked(state, { ...exchange, serve })
}
