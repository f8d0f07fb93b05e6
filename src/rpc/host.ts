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

/** PORT. Where everything that is said about one request of a client goes, ending with its answer. */
export interface ReplyStream {
  /** Whether questions can travel here: not if the client takes nothing but one JSON answer. */
  readonly canAsk: boolean
  /** Over a network: how that request came. */
  readonly arrival?: Arrival | undefined
  /** Sends a notification or request on it; left out if it `mayDrop` and the client is behind. */
  send(frame: OutgoingMessage, mayDrop?: boolean): void
  /** Sends a question; `undeliverable` is called if none takes it in time. Absent where `send` does. */
  ask?(frame: OutgoingMessage, undeliverable: () => void): void
  /**
   * Sends the answer and ends the stream; without a frame (a cancelled request) just ends it. Called once.
   * `why` is the fault that the answer tells of: HTTP gives some of them a status, too.
   */
  end(frame: OutgoingMessage | undefined, ending?: { readonly why?: Fault | undefined }): void
}

/** PORT. Where what belongs to no request of a client goes. */
export interface Outlet {
  /** The id of the client's session, if it has one that is said on a wire. */
  readonly id?: string
  /** Sends a notification; kept for a while when no stream is open. */
  notify(frame: Buffer, method: string): void
  /** Sends a question; `undeliverable` is called when no stream opened in time. */
  request(frame: Buffer, undeliverable: () => void): void
  /** Takes back a question that was not sent yet; false if it was. Absent where nothing waits. */
  takeBack?(undeliverable: () => void): boolean
  /** What waits until the client reads it. */
  readonly queuedBytes: number
  /** The id of the next question to this client; unguessable where others could answer in its place. */
  nextRequestId(): number | string
}

/** An HTTP response that refuses a request. */
interface HttpRefusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Tells a caller which scopes its request needs where it came in (RFC 6750 §3.1, `insufficient_scope`). */
export type ScopeChallenge = (scopes: readonly string[], caller: Caller) => HttpRefusal | undefined

/** The same for one caller. */
export type OwnChallenge = (scopes: readonly string[]) => HttpRefusal | undefined

/** Why what was opened with a credential ends when that is taken back. */
export const REVOKED = 'its credential is no longer good'

export interface UplinkOptions {
  readonly handler: ClientHandler
  readonly identity: Identity
  readonly log: Logger
  readonly clock: Clock
  readonly bounds?: LimitCounters | undefined
  /** What carries its clients. */
  readonly via?: Via | undefined
  /** Ids of the extensions that this way in has, for clients of 2026-07-28. */
  readonly extensions?: readonly string[] | undefined
}

export interface ListenerOptions extends UplinkOptions {
  /** How a request that needs more scopes is refused over HTTP; undefined where none needs any. */
  readonly challenge?: ScopeChallenge | undefined
  /** Whether answers depend on who asks, so that nobody may keep them for others. */
  readonly isPrivate?: boolean | undefined
  /** Counts input that cannot be read as a message. */
  readonly refused?: ((reason: 'malformed') => void) | undefined
  /** Both are there with several replicas only. */
  readonly relay?: Relay | undefined
  readonly directory?: SessionDirectory | undefined
}
