import type { Caller, Principal } from '../kernel/caller.js'
import { Fault, type FaultData } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Client } from '../model/links.js'
import type { LegacyRevision } from '../model/revision.js'
import { faultText } from '../model/rpc-error.js'
import { encodeError } from '../wire/jsonrpc.js'

/** A request that changed what a session is, such as a subscription. */
export interface StateRequest {
  readonly method: string
  readonly params: JsonText
}

/** What another replica needs to go on with a session: what its client said when it began, and set since. */
export interface SessionRecord {
  readonly principal: Principal
  readonly view: string | undefined
  /** The params of `initialize`. */
  readonly introduction: JsonText
  readonly requests: readonly StateRequest[]
  /** The sessions that it has at servers for itself alone, by their names. */
  readonly servers: readonly (readonly [server: string, session: JsonText])[]
}

/** A session that comes from a replica that is no more. */
export interface AdoptedSession {
  readonly id: string
  readonly record: SessionRecord
  /** Counts its owners. */
  readonly epoch: number
  /** Whose request brought it here; of the same principal. */
  readonly caller: Caller
}

/** Where sessions live; as the directory knows it. */
export interface SessionHost {
  restore(session: AdoptedSession): void
  /** Ends a session here so that another replica goes on with it; false while something is under way. */
  letGo(id: string): boolean
  /** Ends a session that is another replica's by now; its client is not told that it is over. */
  drop(id: string): void
  /** Ends all open streams with a `retry`: nobody knows whether the sessions are still here. */
  release(): void
}

/** PORT. Tells all replicas which sessions are here. Absent where there is only one. */
export interface SessionDirectory {
  /** Says where sessions live that come from other replicas. */
  host(host: SessionHost): void
  /** How many sessions a principal, who is about to begin one here, has at other replicas. Never rejects. */
  sessionsElsewhere(principal: Principal): Promise<number>
  /** The id of a session that begins here. */
  newId(client: Pick<Client, 'principal' | 'capabilities'> & { revision: LegacyRevision }): string
  /** A session began here. Resolves once others could go on with it, and after 100 ms in any case. */
  opened(id: string, epoch: number, record: SessionRecord): Promise<void>
  /** What another replica would need is not what it was. */
  changed(id: string, record: SessionRecord): void
  /** Its client, or a limit, ended it. */
  ended(id: string): void
}

/** The id of an event after which nothing comes, whoever is asked. */
export const OVER = 'over'

/** What is said of a request whose replica died or was replaced while it ran. */
export const REPLICA_LOST: FaultData = { reason: 'replica_lost', mayHaveRun: true }

/** The answer to a request whose replica died: nobody knows whether it ran. */
export const replicaLost = (id: JsonText): Buffer =>
  encodeError(
    id,
    faultText(
      new Fault('disconnected', 'The replica of the proxy that ran this request is gone: it may have run', {
        data: REPLICA_LOST,
      }),
    ),
  )
