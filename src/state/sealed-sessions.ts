import { hash } from 'node:crypto'
import type { ProxyConfig } from '../config/types.js'
import type { Caller, Principal } from '../kernel/caller.js'
import { randomId } from '../kernel/ids.js'
import { EMPTY, type JsonText, readJson } from '../kernel/json/text.js'
import { TextSeal } from '../kernel/secrets/text-seal.js'
import type { Client } from '../model/links.js'
import {
  type Adopt,
  type AdoptedSession,
  type LocalSession,
  type OrphanedSession,
  proxyRestarted,
  reinitialize,
  type SessionSeals,
} from '../rpc/adopted-session.js'
import { EndedSessions } from './ended-sessions.js'
import { type KeySource, sessionKeysOf } from './state-key.js'

/** Age after which an id no longer restores its session. */
const LIFE_MS = 30 * 24 * 3600_000
/** A longer id could exceed the limits on headers of clients and reverse proxies. */
const ID_CHARS = 1024

const VERSION = 1
const PRINCIPAL_BYTES = 16
/** The version, the time of birth in seconds, the principal, and the length of the view. */
const HEAD_BYTES = 1 + 4 + PRINCIPAL_BYTES + 1
/** Epochs are milliseconds since this time, which keeps them short. */
const FIRST_MS = Date.UTC(2026, 0)

/** The content of a session id. */
interface SessionName {
  readonly bornMs: number
  readonly principal: Buffer
  readonly view: string | undefined
  /** The params of `initialize`. */
  readonly params: JsonText
}

type Owner = Pick<Client, 'principal' | 'view'>

/** Identifies a principal without revealing it. */
const principalTag = (principal: Principal): Buffer =>
  hash('sha256', `principal ${principal}`, 'buffer').subarray(0, PRINCIPAL_BYTES)

const encode = ({ principal, view = '' }: Owner, bornMs: number, params: JsonText): Buffer | undefined => {
  const name = Buffer.from(view)
  if (name.length > 255 || name.length + params.length > ID_CHARS) return undefined
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt8(VERSION, 0)
  head.writeUInt32BE(Math.floor(bornMs / 1000) >>> 0, 1)
  principalTag(principal).copy(head, 5)
  head.writeUInt8(name.length, HEAD_BYTES - 1)
  return Buffer.concat([head, name, params])
}

const decode = (plain: Buffer): SessionName | undefined => {
  if (plain.length < HEAD_BYTES || plain[0] !== VERSION) return undefined
  const rest = HEAD_BYTES + plain.readUInt8(HEAD_BYTES - 1)
  const view = plain.toString('utf8', HEAD_BYTES, rest)
  return {
    bornMs: plain.readUInt32BE(1) * 1000,
    principal: plain.subarray(5, 5 + PRINCIPAL_BYTES),
    view: view === '' ? undefined : view,
    params: readJson(plain.subarray(rest)),
  }
}

/** Returns the maker of session ids. Undefined in a cluster, whose replicas take over sessions. */
export const sealedSessionsOf = (
  { stateKeys, cluster }: Pick<ProxyConfig, 'stateKeys' | 'cluster'>,
  source: Omit<KeySource, 'configured'>,
): SessionSeals | undefined =>
  cluster === undefined ? new SealedSessions({ ...source, configured: stateKeys }) : undefined

interface SealedSessionsOptions extends KeySource {
  /** The wall clock, since ids outlive the process. */
  readonly nowMs?: () => number
}

/**
 * Makes session ids that hold the data to restore their session, sealed with the key of the state folder, and
 * keeps a list of the sessions that ended for good. Loads the key with the first session. @internal
 */
export class SealedSessions implements SessionSeals {
  readonly #source: KeySource
  readonly #nowMs: () => number
  readonly #ended: EndedSessions
  /** Undefined without a key; null until the key is needed. */
  #seal: TextSeal | undefined | null = null
  #lastEpoch = 0

  constructor({ nowMs = () => Date.now(), ...source }: SealedSessionsOptions) {
    this.#source = source
    this.#nowMs = nowMs
    this.#ended = new EndedSessions({ ...source, nowMs })
  }

  readonly adopt: Adopt = session => new SealedSession(session, this)

  open(id: string, caller: Caller): OrphanedSession | undefined {
    const name = this.#nameIn(id)
    if (name === undefined || name.view !== caller.view) return undefined
    if (!name.principal.equals(principalTag(caller.principal))) return undefined
    if (this.#nowMs() >= name.bornMs + LIFE_MS || this.#ended.has(id)) return undefined
    return { id, caller, adopt: session => new SealedSession(session, this, { id, params: name.params }) }
  }

  end(id: string): void {
    const name = this.#nameIn(id)
    if (name !== undefined) this.#ended.add(id, name.bornMs + LIFE_MS)
  }

  /** Returns the id of a new session: random without a key, and if it would be too long. */
  newId(owner: Owner, params: JsonText): string {
    const plain = encode(owner, this.#nowMs(), params)
    const id = plain && this.#sealed?.seal(plain)
    if (id !== undefined && id.length <= ID_CHARS) return id
    this.#source.log.debug({ bytes: params.length }, 'a session cannot be restored after a restart')
    return randomId()
  }

  /** Returns a number that is greater than those of earlier owners of any session. */
  newEpoch(): number {
    this.#lastEpoch = Math.max(Math.floor(this.#nowMs()) - FIRST_MS, this.#lastEpoch + 1, 1)
    return this.#lastEpoch
  }

  get #sealed(): TextSeal | undefined {
    if (this.#seal !== null) return this.#seal
    const keys = sessionKeysOf(this.#source)
    this.#seal = keys && new TextSeal(keys, 'session')
    return this.#seal
  }

  #nameIn(id: string): SessionName | undefined {
    const plain = id.length > ID_CHARS ? undefined : this.#sealed?.open(id)
    return plain && decode(plain)
  }
}

/** One session with a sealed id, which is restored if `kept` is given. */
class SealedSession implements AdoptedSession {
  readonly epoch: number
  readonly isRestored: boolean
  readonly lostAnswer = proxyRestarted
  readonly #session: LocalSession
  readonly #seals: SealedSessions
  #id: string | undefined
  /** Kept until the id is made. */
  #params: JsonText

  constructor(
    session: LocalSession,
    seals: SealedSessions,
    kept?: { readonly id: string; readonly params: JsonText },
  ) {
    this.epoch = seals.newEpoch()
    this.isRestored = kept !== undefined
    this.#session = session
    this.#seals = seals
    this.#id = kept?.id
    this.#params = kept?.params ?? EMPTY
  }

  get id(): string {
    if (this.#id === undefined) {
      this.#id = this.#seals.newId(this.#session.uplink, this.#params)
      this.#params = EMPTY
    }
    return this.#id
  }

  initialized(params: JsonText = EMPTY): void {
    this.#params = params
  }

  replay(): void {
    const params = this.#params
    this.#params = EMPTY
    reinitialize(this.#session, params)
  }

  /** A limit does not end it for good: its client may come back. */
  ended(isFinal: boolean): void {
    if (isFinal) this.#seals.end(this.id)
  }
}
