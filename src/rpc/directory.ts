import type { Caller, Principal } from '../kernel/caller.js'
import { Fault, type FaultData } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Client } from '../model/links.js'
import type { LegacyRevision } from '../model/revision.js'
import { faultText } from '../model/rpc-error.js'
import { encodeError } from '../wire/jsonrpc.js'

/** A request that changed the state of a session, such as a subscription. */
export interface StateRequest {
  readonly method: string
  readonly params: JsonText
}

/** The data for another replica to resume a session: the client's initialization and later settings. */
export interface SessionRecord {
  readonly principal: Principal
  readonly view: string | undefined
  /** The params of `initialize`. */
  readonly introduction: JsonText
  readonly requests: readonly StateRequest[]
  /** Its dedicated sessions at servers, by server name. */
  readonly servers: readonly (readonly [server: string, session: JsonText])[]
}

/** A session taken over from a replica that is gone. */
export interface AdoptedSession {
  readonly id: string
  readonly record: SessionRecord
  /** The number of its owners so far. */
  readonly epoch: number
  /** The sender of the request that moved it here; of the same principal. */
  readonly caller: Caller
}

/** The local sessions, as the directory uses them. */
export interface SessionHost {
  restore(session: AdoptedSession): void
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
   * Returns the number of a principal's sessions at other replicas, before one begins here. Never rejects.
   */
  sessionsElsewhere(principal: Principal): Promise<number>
  /** Creates the id of a session that begins here. */
  newId(client: Pick<Client, 'principal' | 'capabilities'> & { revision: LegacyRevision }): string
  /** Publishes a new session. Resolves once others could resume it, and after 100 ms in any case. */
  opened(id: string, epoch: number, record: SessionRecord): Promise<void>
  /** Publishes a changed session. */
  changed(id: string, record: SessionRecord): void
  /** The session was ended by its client or a limit. */
  ended(id: string): void
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
