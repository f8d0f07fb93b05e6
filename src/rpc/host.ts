import type { Clock } from '../kernel/async/clock.js'
import type { Caller } from '../kernel/caller.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { ClientHandler, Via } from '../model/links.js'
import type { Identity } from '../model/peer.js'
import type { Relay } from '../wire/relay.js'
import type { SessionDirectory, SessionSeals } from './adopted-session.js'

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
  /** Without other replicas only. */
  readonly seals?: SessionSeals | undefined
}
