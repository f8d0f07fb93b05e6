import type { Caller, Principal } from '../kernel/caller.js'
import { Fault, type FaultData } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Client } from '../model/links.js'
import type { LegacyRevision } from '../model/revision.js'
import { faultText } from '../model/rpc-error.js'
import type { HttpResponder } from '../wire/http.js'
import { encodeError, type Message } from '../wire/jsonrpc.js'
import type { Outlet, ReplyStream } from './outlet.js'

/** A session of a client, as its adoption uses it. */
export interface LocalSession extends Outlet {
  readonly uplink: Pick<Client, 'principal' | 'view' | 'capabilities'> & {
    readonly revision: LegacyRevision
    receive(message: Message, replies: ReplyStream): void
  }
}

/** PORT. Lets other replicas take over one session. Absent without other replicas. */
export interface AdoptedSession {
  /** The id of the session. Created on first use, after `initialize`: it holds some of the client's data. */
  readonly id: string
  /** The number of the session's owners so far. */
  readonly epoch: number
  readonly sessionAt: NonNullable<Client['sessionAt']>
  /** Remembers the cancellation of an unknown request, which may take a longer path. */
  cancelled(key: string, reason: string | undefined): void
  /** Returns the cancellation that overtook a request; undefined if none. */
  takeCancel(key: string): { readonly reason: string | undefined } | undefined
  /** Records the params of `initialize`. */
  initialized(params: JsonText | undefined): void
  /** Records a request that may change the state of the session. */
  requested(message: Message & { readonly kind: 'request' }): void
  /** Publishes the session. Resolves once others could resume it, and after 100 ms in any case. */
  opened(): Promise<void>
  /** The session was ended by its client or a limit. */
  ended(): void
  /** The session continues at another replica. */
  moved(): void
  /** Replays the recorded requests, and notifies the client of everything that it may have missed. */
  replay(): void
}

/** Creates the adoption of a session. */
export type Adopt = (session: LocalSession) => AdoptedSession

/** A session to be taken over from a replica that is gone. */
export interface OrphanedSession {
  readonly id: string
  /** The sender of the request that moved it here; of the same principal. */
  readonly caller: Caller
  readonly adopt: Adopt
}

/** The local sessions, as the directory uses them. */
export interface SessionHost {
  restore(session: OrphanedSession): void
  /** Ends a session here so that another replica can resume it; false while requests are in flight. */
  handOver(id: string): boolean
  /** Ends a session that now belongs to another replica, without telling its client that it is over. */
  drop(id: string): void
  /** Ends all open streams with a `retry`, because the sessions may have moved. */
  release(): void
}

/** PORT. Publishes the local sessions to all replicas. Absent without other replicas. */
export interface SessionDirectory {
  /** Sets the host that takes over sessions of other replicas. */
  host(host: SessionHost): void
  /**
   * Counts the principal's sessions at other replicas, then calls `begin` with a responder that answers once
   * its promise resolves.
   */
  begin(
    principal: Principal,
    responder: HttpResponder,
    begin: (responder: HttpResponder, elsewhere: number) => Promise<void>,
  ): void
  /** Creates the id of a session that begins here. */
  newId(client: Pick<Client, 'principal' | 'capabilities'> & { revision: LegacyRevision }): string
  readonly adopt: Adopt
}

/** The id of a final event, valid at every replica: nothing follows it. */
export const FINAL_EVENT_ID = 'over'

/** The error data of a request whose replica died or was replaced while it ran. */
export const REPLICA_LOST: FaultData = { reason: 'replica_lost', mayHaveRun: true }

/** Encodes the answer to a request whose replica died, so that it may or may not have run. */
export const replicaLost = (id: JsonText): Buffer =>
  encodeError(
    id,
    faultText(
      new Fault('disconnected', 'The replica of the proxy that ran this request is gone: it may have run', {
        data: REPLICA_LOST,
      }),
    ),
  )
