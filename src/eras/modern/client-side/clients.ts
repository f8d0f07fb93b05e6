import type { Clock } from '../../../kernel/async/clock.js'
import type { Caller, Principal } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import { type JsonText, ownText, rawText } from '../../../kernel/json/text.js'
import type { Client, ProjectedRequest, ServerRequest, Via } from '../../../model/links.js'
import { failed } from '../../../model/outcome.js'
import { type ClientCapabilities, newClientId } from '../../../model/peer.js'
import { MODERN_REVISION } from '../../shared/protocol.js'
import type { Envelope } from '../envelope.js'

/** The `clientInfo` of a client that sent none. */
const UNNAMED = rawText('{"name":"unknown","version":"0"}')

/**
 * Represents all senders with the same principal, scopes, folder and client info at one endpoint or channel,
 * which this revision cannot distinguish without sessions (basic, "Statelessness"). They may be several
 * people: use it for shared connections and limits, never for ownership.
 */
export class ModernClient implements Client {
  readonly id = newClientId()
  readonly principal: Principal
  /** The latest of several callers with equal scopes. */
  caller: Caller
  readonly revision = MODERN_REVISION
  readonly via: Via | undefined
  readonly serverRequests = 'returned'
  readonly capabilities: ClientCapabilities
  readonly info: JsonText
  readonly view: string | undefined
  workspace: string | undefined
  /** Requests in flight. */
  openCalls = 0
  lastUsedMs: number

  constructor(caller: Caller, { capabilities, info }: Envelope, nowMs: number, via?: Via) {
    this.via = via
    this.principal = caller.principal
    this.caller = caller
    this.view = caller.view
    this.workspace = caller.workspace
    this.capabilities = capabilities
    this.info = info === undefined ? UNNAMED : ownText(info)
    this.lastUsedMs = nowMs
  }

  /** Does nothing: this client can only be notified on the streams of its requests. */
  notify(): void {
    return
  }

  ask(ask: ServerRequest): void {
    ask.answer(failed(new Fault('internal', 'This client can only be asked in the answer to its request')))
  }

  project(): ProjectedRequest {
    return { is: 'impossible', what: 'a request outside an answer' }
  }
}

/** Limits on the clients of one endpoint or channel. */
export interface ClientLimits {
  readonly clients: number
  /** Total bytes of their info. */
  readonly bytes: number
}

/** Clients are forgotten after this time without a request in flight. */
const IDLE_MS = 15 * 60_000

interface Known {
  readonly client: ModernClient
  readonly bytes: number
}

/** The clients of one endpoint or channel. */
export class ModernClients {
  readonly #clock: Clock
  readonly #limits: () => ClientLimits
  readonly #left: (client: ModernClient) => void
  readonly #via: Via | undefined
  readonly #known = new Map<string, Known>()
  /** The sender of the latest request, cached because the next request often has the same. */
  #latest: { readonly caller: Caller; readonly envelope: Envelope; readonly client: ModernClient } | undefined
  #bytes = 0

  /** `left` is called once for each forgotten client. */
  constructor(clock: Clock, limits: () => ClientLimits, left: (client: ModernClient) => void, via?: Via) {
    this.#via = via
    this.#clock = clock
    this.#limits = limits
    this.#left = left
  }

  get size(): number {
    return this.#known.size
  }

  /** The first known folder of a client. */
  get workspace(): string | undefined {
    for (const { client } of this.#known.values()) if (client.workspace !== undefined) return client.workspace
    return undefined
  }

  /** Returns the client of a request; undefined if it is new and there is no room. */
  of(caller: Caller, envelope: Envelope): ModernClient | undefined {
    if (this.#latest?.caller !== caller || this.#latest.envelope !== envelope) {
      const client = this.#find(caller, envelope)
      if (client === undefined) return undefined
      client.caller = caller
      this.#latest = { caller, envelope, client }
    }
    const { client } = this.#latest
    client.lastUsedMs = this.#clock.nowMs()
    return client
  }

  #find(caller: Caller, envelope: Envelope): ModernClient | undefined {
    const key = keyOf(caller, envelope)
    const known = this.#known.get(key)
    if (known !== undefined) return known.client
    if (!this.#makeRoom(key.length)) return undefined
    const client = new ModernClient(caller, envelope, this.#clock.nowMs(), this.#via)
    this.#known.set(key, { client, bytes: key.length })
    this.#bytes += key.length
    return client
  }

  /** Forgets clients that have been idle for long; called periodically. */
  sweep(): void {
    const nowMs = this.#clock.nowMs()
    for (const [key, { client }] of this.#known) {
      // Idle time begins with the answer, not with the request.
      if (client.openCalls > 0) client.lastUsedMs = nowMs
      else if (client.lastUsedMs < nowMs - IDLE_MS) this.#forget(key)
    }
  }

  /** Forgets all clients; their requests have ended. */
  close(): void {
    for (const key of [...this.#known.keys()]) this.#forget(key)
  }

  #makeRoom(bytes: number): boolean {
    const limits = this.#limits()
    if (bytes > limits.bytes) return false
    while (this.#known.size >= limits.clients || this.#bytes + bytes > limits.bytes) {
      const oldest = this.#longestIdle()
      if (oldest === undefined) return false
      this.#forget(oldest)
    }
    return true
  }

  #longestIdle(): string | undefined {
    let oldest: string | undefined
    let sinceMs = Number.POSITIVE_INFINITY
    for (const [key, { client }] of this.#known) {
      if (client.openCalls > 0 || client.lastUsedMs >= sinceMs) continue
      oldest = key
      sinceMs = client.lastUsedMs
    }
    return oldest
  }

  #forget(key: string): void {
    const known = this.#known.get(key)
    if (known === undefined) return
    this.#known.delete(key)
    if (this.#latest?.client === known.client) this.#latest = undefined
    this.#bytes -= known.bytes
    this.#left(known.client)
  }
}

const keyOf = ({ principal, scopes, view = '', workspace = '' }: Caller, { sender }: Envelope): string => {
  const owner = scopes === undefined ? principal : `${principal}\0${JSON.stringify([...scopes].sort())}`
  return `${owner}\0${view}\0${workspace}\0${sender}`
}
