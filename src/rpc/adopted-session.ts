import type { Caller, Principal } from '../kernel/caller.js'
import { Fault, type FaultData } from '../kernel/faults.js'
import { type JsonText, rawText } from '../kernel/json/text.js'
import type { Client } from '../model/links.js'
import type { LegacyRevision } from '../model/revision.js'
import { faultText } from '../model/rpc-error.js'
import type { HttpResponder } from '../wire/http.js'
import { encodeError, encodeNotification, type Message } from '../wire/jsonrpc.js'
import type { Outlet, ReplyStream } from './outlet.js'

/** A session of a client, as its adoption uses it. */
export interface LocalSession extends Outlet {
  readonly uplink: Pick<Client, 'principal' | 'view' | 'capabilities'> & {
    readonly revision: LegacyRevision
    receive(message: Message, replies: ReplyStream): void
  }
}

/** PORT. Lets other replicas, or a later process, take over one session. */
export interface AdoptedSession {
  /** The id of the session. Created on first use, after `initialize`: it holds some of the client's data. */
  readonly id: string
  /** Grows with each owner of the session. */
  readonly epoch: number
  /** True if the session had an earlier owner. */
  readonly isRestored: boolean
  readonly sessionAt?: Client['sessionAt']
  /** Records the params of `initialize`. */
  initialized(params: JsonText | undefined): void
  /** The session has ended; `isFinal` if its client ended it or lost its access. */
  ended(isFinal: boolean): void
  /** Replays the recorded requests, and notifies the client of everything that it may have missed. */
  replay(): void
  /** Encodes the answer to a request that ran at an earlier owner. */
  lostAnswer(id: JsonText): Buffer

  // Only with other replicas:

  /** Remembers the cancellation of an unknown request, which may take a longer path. */
  cancelled?(key: string, reason: string | undefined): void
  /** Returns the cancellation that overtook a request; undefined if none. */
  takeCancel?(key: string): { readonly reason: string | undefined } | undefined
  /** Records a request that may change the state of the session. */
  requested?(message: Message & { readonly kind: 'request' }): void
  /** Publishes the session. Resolves once others could resume it, and after 100 ms in any case. */
  opened?(): Promise<void>
  /** The session continues at another replica. */
  moved?(): void
}

/** Creates the adoption of a session. */
export type Adopt = (session: LocalSession) => AdoptedSession

/** A session to be taken over from a replica or process that is gone. */
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

/** PORT. Makes session ids from which a later process can restore a session. Absent with other replicas. */
export interface SessionSeals {
  readonly adopt: Adopt
  /** Opens the id of a session that is not here; undefined unless the caller may continue it. */
  open(id: string, caller: Caller): OrphanedSession | undefined
  /** Ends a session that is not here for good. */
  end(id: string): void
}

const LISTS = ['tools', 'prompts', 'resources']
const NO_REPLY: ReplyStream = { canAsk: false, send: () => undefined, end: () => undefined }

/**
 * Initializes a restored session as its client once did, and notifies it that lists may have changed.
 * `then` is called once the session is open.
 */
export const reinitialize = (
  session: LocalSession,
  params: JsonText,
  then: () => void = () => undefined,
): void => {
  const { uplink } = session
  const replies: ReplyStream = {
    ...NO_REPLY,
    end: () => {
      for (const list of LISTS) {
        const method = `notifications/${list}/list_changed`
        session.notify(encodeNotification(method, undefined), method)
      }
      then()
    },
  }
  sendAs(session, 'initialize', params, replies)
  uplink.receive({ kind: 'notification', method: 'notifications/initialized', params: undefined }, NO_REPLY)
}

/** Sends a request to a restored session on behalf of its client. Returns the request. */
export const sendAs = (
  session: LocalSession,
  method: string,
  params: JsonText,
  replies: ReplyStream = NO_REPLY,
): Message & { readonly kind: 'request' } => {
  const id = rawText(`"${session.nextRequestId()}"`)
  const message = { kind: 'request', id, method, params } as const
  session.uplink.receive(message, replies)
  return message
}

/** The id of a final event, valid at every replica: nothing follows it. */
export const FINAL_EVENT_ID = 'over'

/** The error data of a request whose replica died or was replaced while it ran. */
export const REPLICA_LOST: FaultData = { reason: 'replica_lost', mayHaveRun: true }

/** Encodes the answer to a request whose replica died, so that it may or may not have run. */
export const replicaLost = (id: JsonText): Buffer =>
  lostAnswer(id, 'The replica of the proxy that ran this request is gone: it may have run', REPLICA_LOST)

/** Encodes the answer to a request that ran when the proxy was killed. */
export const proxyRestarted = (id: JsonText): Buffer =>
  lostAnswer(id, 'The proxy was restarted during this request: it may have run', {
    reason: 'proxy_restarted',
    mayHaveRun: true,
  })

const lostAnswer = (id: JsonText, message: string, data: FaultData): Buffer =>
  encodeError(id, faultText(new Fault('disconnected', message, { data })))
