import type { Clock } from '../../kernel/async/clock.js'
import { type JsonText, rawText, textMember, textOf } from '../../kernel/json/text.js'
import type { AdoptedSession, LocalSession, SessionDirectory } from '../../rpc/adopted-session.js'
import type { ReplyStream } from '../../rpc/outlet.js'
import { encodeNotification, type Message } from '../../wire/jsonrpc.js'
import { EarlyCancels } from './early-cancels.js'
import { type SessionRecord, SessionState, SUBSCRIBE } from './session-state.js'

const LISTS = ['tools', 'prompts', 'resources']
const NO_REPLY: ReplyStream = { canAsk: false, send: () => undefined, end: () => undefined }

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

  takeCancel(key: string): ReturnType<AdoptedSession['takeCancel']> {
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
    const { uplink } = this.#session
    this.#state.servers.restore(servers)
    this.#state.initialized(introduction)
    this.#send('initialize', introduction, { ...NO_REPLY, end: () => this.#reportMissed(requests) })
    uplink.receive({ kind: 'notification', method: 'notifications/initialized', params: undefined }, NO_REPLY)
    for (const { method, params } of requests) this.#send(method, params, NO_REPLY)
  }

  #send(method: string, params: JsonText, replies: ReplyStream): void {
    const id = rawText(`"${this.#session.nextRequestId()}"`)
    const message = { kind: 'request', id, method, params } as const
    this.#state.recordRequest(message)
    this.#session.uplink.receive(message, replies)
  }

  #reportMissed(requests: SessionRecord['requests']): void {
    const notify = (method: string, params?: JsonText): void =>
      this.#session.notify(encodeNotification(method, params), method)
    for (const list of LISTS) notify(`notifications/${list}/list_changed`)
    for (const { method, params } of requests) {
      const uri = method === SUBSCRIBE ? textMember(params, 'uri') : undefined
      if (uri !== undefined) notify('notifications/resources/updated', textOf({ uri }))
    }
  }
}
