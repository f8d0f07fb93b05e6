import type { HttpHandler, HttpRequest, HttpResponder } from './http.js'

/** A request that may belong to another replica, and the local handler if it turns out to belong here. */
export interface RelayedExchange {
  readonly request: HttpRequest
  readonly responder: HttpResponder
  /** Serves a request that belongs here; rejects one that belongs to no replica. */
  readonly serve: HttpHandler
}

/** PORT. Forwards requests to other replicas of this proxy. Absent without replicas; used on misses only. */
export interface Relay {
  /** False while another replica may have taken over our sessions, so that they must not be served yet. */
  readonly isSure: boolean
  /** Takes a request of a session that is not certainly here; false if no replica has it. */
  session(id: string, exchange: RelayedExchange): boolean
  /** Takes a request that begins a session, if it should begin elsewhere; else returns false. */
  begin(exchange: RelayedExchange): boolean
  /** Takes a request whose state names a call waiting at another replica; else returns false. */
  parked(requestState: string, exchange: RelayedExchange): boolean
}
