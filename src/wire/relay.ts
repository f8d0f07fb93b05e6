import type { HttpHandler, HttpRequest, HttpResponder } from './http.js'

/** A request that may be for another replica, and how it is served if it turns out to be for this one. */
export interface RelayedExchange {
  readonly request: HttpRequest
  readonly responder: HttpResponder
  /** Serves what has become ours meanwhile; refuses what is nobody's. */
  readonly serve: HttpHandler
}

/** PORT. The way to the other replicas of this proxy. Absent where there are none; asked on misses only. */
export interface Relay {
  /** False while somebody else may have taken over what is here, so that it must not be served yet. */
  readonly isSure: boolean
  /** Takes a request of a session that is not here, or not for sure; false if there is no such session. */
  session(id: string, exchange: RelayedExchange): boolean
  /** Takes a request that begins a session, if that should not be here; false otherwise. */
  begin(exchange: RelayedExchange): boolean
  /** Takes a request that says by its state that its call waits in another replica; false if it does not. */
  parked(requestState: string, exchange: RelayedExchange): boolean
}
