import type { Clock } from '../kernel/async/clock.js'
import type { Caller } from '../kernel/caller.js'
import type { Fault } from '../kernel/faults.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { Arrival, ClientHandler, Via } from '../model/links.js'
import type { Identity } from '../model/peer.js'
import type { OutgoingMessage } from '../wire/message-parts.js'
import type { Relay } from '../wire/relay.js'
import type { SessionDirectory } from './directory.js'

/** PORT. Receives all messages about one client request, ending with its answer. */
export interface ReplyStream {
  /** True if questions can be sent here; false if the client accepts only a single JSON answer. */
  readonly canAsk: boolean
  /** Over a network: the origin of the request. */
  readonly arrival?: Arrival | undefined
  /** Sends a notification or request; dropped if it `mayDrop` and the client is behind. */
  send(frame: OutgoingMessage, mayDrop?: boolean): void
  /**
   * Sends a question; `undeliverable` is called if no stream takes it in time. Absent where `send` suffices.
   */
  ask?(frame: OutgoingMessage, undeliverable: () => void): void
  /**
   * Sends the answer and ends the stream; without a frame (a cancelled request) only ends it. Called once.
   * `why` is the fault in the answer: HTTP maps some faults to a status.
   */
  end(frame: OutgoingMessage | undefined, ending?: { readonly why?: Fault | undefined }): void
}

/** PORT. Receives messages to a client that belong to no request. */
export interface Outlet {
  /** The id of the client's session, if it has one on the wire. */
  readonly id?: string
  /** Sends a notification; kept for a while if no stream is open. */
  notify(frame: Buffer, method: string): void
  /** Sends a question; `undeliverable` is called if no stream opens in time. */
  request(frame: Buffer, undeliverable: () => void): void
  /** Takes back a question that was not sent yet; false if it was. Absent without a queue. */
  takeBack?(undeliverable: () => void): boolean
  /** The bytes the client has not read yet. */
  readonly queuedBytes: number
  /** Returns the id of the next question; unguessable where other clients could answer it. */
  nextRequestId(): number | string
}

/** An HTTP response that rejects a request. */
interface HttpRefusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Makes the HTTP response for missing scopes (RFC 6750 §3.1, `insufficient_scope`). */
export type ScopeChallenge = (scopes: readonly string[], caller: Caller) => HttpRefusal | undefined

/** The same for one caller. */
export type OwnChallenge = (scopes: readonly string[]) => HttpRefusal | undefined

/** The reason for closing connections and streams whose credential was revoked. */
export const REVOKED = 'its credential is no longer good'

export interface UplinkOptions {
  readonly handler: ClientHandler
  readonly identity: Identity
  readonly log: Logger
  readonly clock: Clock
  readonly bounds?: LimitCounters | undefined
  /** The transport of its clients. */
  readonly via?: Via | undefined
  /** The extensions that this transport announces to clients of 2026-07-28. */
  readonly extensions?: readonly string[] | undefined
}

export interface ListenerOptions extends UplinkOptions {
  /** Makes the HTTP response for missing scopes; undefined without authorization. */
  readonly challenge?: ScopeChallenge | undefined
  /** True if answers depend on the user, so that shared caches must not keep them. */
  readonly isPrivate?: boolean | undefined
  /** Counts malformed input. */
  readonly refused?: ((reason: 'malformed') => void) | undefined
  /** With several replicas only, like `directory`. */
  readonly relay?: Relay | undefined
  readonly directory?: SessionDirectory | undefined
}
