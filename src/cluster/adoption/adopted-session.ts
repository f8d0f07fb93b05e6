import type { Clock } from '../../kernel/async/clock.js'
import { type JsonText, textMember, textOf } from '../../kernel/json/text.js'
import {
  type AdoptedSession,
  type LocalSession,
  reinitialize,
  replicaLost,
  type SessionDirectory,
  sendAs,
} from '../../rpc/adopted-session.js'
import { encodeNotification, type Message } from '../../wire/jsonrpc.js'
import { EarlyCancels } from './early-cancels.js'
import { type SessionRecord, SessionState, SUBSCRIBE } from './session-state.js'

/** Publishes sessions of this replica, and their changes. */
export interface Publisher extends Pick<SessionDirectory, 'newId'> {
  /** Resolves once the session is stored, and after 100 ms in any case. */
  opened(id: string, epoch: number, record: SessionRecord): Promise<void>
  changed(id: string, record: SessionRecord): void
  ended(id: string): void
}

/** The stored data of a session of another replica. */
export interface KeptSession {
  readonly id: string
  readonly epoch: number
  readonly record: SessionRecord
}

/** Publishes one session, and restores one of another replica if `kept` is given. */
export class PublishedSession implements AdoptedSession {
  readonly epoch: number
  readonly sessionAt: AdoptedSession['sessionAt']
  readonly lostAnswer = replicaLost
  readonly #session: LocalSession
  readonly #publisher: Publisher
  readonly #kept: SessionRecord | undefined
  readonly #state: SessionState
  readonly #early: EarlyCancels
  #id: string | undefined

  constructor(session: LocalSession, publisher: Publisher, clock: Clock, kept?: KeptSession) {
    this.#session = session
    this.#publisher = publisher
    this.#early = new EarlyCancels(clock)
    this.#state = new SessionState(() => publisher.changed(this.id, this.#record))
    this.sessionAt = this.#state.servers.at
    this.epoch = kept?.epoch ?? 1
    this.#id = kept?.id
    this.#kept = kept?.record
  }

  get isRestored(): boolean {
    return this.#kept !== undefined
  }

  get id(): string {
    this.#id ??= this.#publisher.newId(this.#session.uplink)
    return this.#id
  }

  get #record(): SessionRecord {
    const { principal, view } = this.#session.uplink
    return { principal, view, ...this.#state.kept }
  }

  cancelled(key: string, reason: string | undefined): void {
    this.#early.note(key, reason)
  }

  takeCancel(key: string): ReturnType<EarlyCancels['take']> {
    return this.#early.take(key)
  }

  initialized(params: JsonText | undefined): void {
    this.#state.initialized(params)
  }

  requested(message: Message & { readonly kind: 'request' }): void {
    this.#state.recordRequest(message)
  }

  async opened(): Promise<void> {
    if (this.#state.isKept) await this.#publisher.opened(this.id, this.epoch, this.#record)
  }

  ended(): void {
    this.#publisher.ended(this.id)
  }

  moved(): void {
    this.#state.servers.isTakenOver = true
  }

  replay(): void {
    if (this.#kept === undefined) return
    const { introduction, requests, servers } = this.#kept
    this.#state.servers.restore(servers)
    this.#state.initialized(introduction)
    reinitialize(this.#session, introduction, () => this.#reportUpdates(requests))
    for (const { method, params } of requests)
      this.#state.recordRequest(sendAs(this.#session, method, params))
  }

  /** Notifies the client that its subscribed resources may have changed. */
  #reportUpdates(requests: SessionRecord['requests']): void {
    const method = 'notifications/resources/updated'
    for (const { method: sent, params } of requests) {
      const uri = sent === SUBSCRIBE ? textMember(params, 'uri') : undefined
      if (uri !== undefined) this.#session.notify(encodeNotification(method, textOf({ uri })), method)
    }
  }
}
