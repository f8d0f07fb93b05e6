import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Principal } from '../../../kernel/caller.js'
import { randomId } from '../../../kernel/ids.js'
import type { TokenStore } from '../token-store.js'
import {
  type AccessToken,
  type IdentityProvider,
  type SignedInIdentity,
  SignInRefused,
} from './identity-provider.js'

/** A user's session at the identity provider, to which grants are bound. */
export interface IdentitySession {
  readonly principal: Principal
  readonly groups: readonly string[]
  /** Encrypted refresh token of the provider, if any. */
  readonly sealed: string | undefined
  /** Encrypted access token of the provider, as JSON. */
  readonly sealedAccess?: string | undefined
  /** Start and last confirmation, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly checkedMs: number
  readonly exp: number
}

const DAY_MS = 86_400_000
const CHECK_MS = 10 * 60_000
const KEPT_DAYS = 30
/** Minimum interval between status requests for a session in use. */
const STATUS_MS = 60_000
const STATUSES_MAX = 10_000

export interface IdentitySessionsOptions {
  readonly provider: IdentityProvider
  readonly store: TokenStore<IdentitySession>
  /** 32 bytes each: the first key seals, all keys open. */
  readonly keys: readonly [Uint8Array, ...Uint8Array[]]
}

/** Sessions behind grants. Each is confirmed at most every ten minutes, with one request at a time. */
export class IdentitySessions {
  readonly #options: IdentitySessionsOptions
  readonly #checks = new Map<string, Promise<boolean>>()
  /** Time of the last status request of each session. */
  readonly #statusMs = new Map<string, number>()

  constructor(options: IdentitySessionsOptions) {
    this.#options = options
  }

  /** Stores a new session and resolves with its id. */
  async add(principal: Principal, { groups, refreshToken, access }: SignedInIdentity): Promise<string> {
    const id = randomId()
    await this.#put(id, {
      principal,
      groups,
      sealed: refreshToken && seal(refreshToken, this.#options.keys[0]),
      sealedAccess: seal(JSON.stringify(access), this.#options.keys[0]),
      sinceMs: Date.now(),
      checkedMs: 0,
    })
    return id
  }

  /**
   * Call when a token of a session is used. Asks the provider at most every minute, in the background.
   * Resolves with false if the session has ended. Rejects with a Fault if the provider cannot be asked.
   */
  async stillHolds(id: string): Promise<boolean> {
    const now = Date.now()
    if (now - (this.#statusMs.get(id) ?? 0) < STATUS_MS) return true
    this.#statusMs.delete(id)
    this.#statusMs.set(id, now)
    const [oldest] = this.#statusMs.keys()
    if (oldest !== undefined && this.#statusMs.size > STATUSES_MAX) this.#statusMs.delete(oldest)
    const session = await this.#options.store.seek(id)
    if (session === undefined) return false
    const access = this.#opened(session.sealedAccess)
    const isActive = await this.#options.provider.isActive(
      this.#opened(session.sealed),
      access === undefined ? undefined : (JSON.parse(access) as AccessToken),
    )
    if (isActive === false) await this.#options.store.delete(id)
    return isActive !== false
  }

  #opened(sealed = ''): string | undefined {
    return this.#options.keys.flatMap(key => open(sealed, key) ?? [])[0]
  }

  groupsOf(id: string | undefined): readonly string[] {
    return (id === undefined ? undefined : this.#options.store.get(id)?.groups) ?? []
  }

  /**
   * Resolves with whether a session is still valid. Without a refresh token of the provider, it is valid for
   * a day. Rejects with a Fault `unavailable` if the provider cannot be asked.
   */
  async holds(id: string): Promise<boolean> {
    const session = await this.#options.store.seek(id)
    if (session === undefined) return false
    const now = Date.now()
    if (session.sealed === undefined) return now - session.sinceMs < DAY_MS
    if (now - session.checkedMs < CHECK_MS) return true
    const check = this.#checks.get(id) ?? this.#check(id, session).finally(() => this.#checks.delete(id))
    this.#checks.set(id, check)
    return await check
  }

  async #check(id: string, session: IdentitySession): Promise<boolean> {
    const { keys, provider, store } = this.#options
    const [refreshToken] = keys.flatMap(key => open(session.sealed ?? '', key) ?? [])
    try {
      // Without its key the session cannot be confirmed, and has ended.
      if (refreshToken === undefined) throw new SignInRefused('invalid_grant')
      const renewed = await provider.renew(refreshToken)
      await this.#put(id, {
        ...session,
        groups: renewed.groups ?? session.groups,
        sealed: seal(renewed.refreshToken, keys[0]),
        sealedAccess: seal(JSON.stringify(renewed.access), keys[0]),
        checkedMs: Date.now(),
      })
      return true
    } catch (thrown) {
      if (!(thrown instanceof SignInRefused)) throw thrown
      await store.delete(id)
      return false
    }
  }

  async #put(id: string, session: Omit<IdentitySession, 'exp'>): Promise<void> {
    const exp = Math.floor((Date.now() + KEPT_DAYS * DAY_MS) / 1000)
    await this.#options.store.set(id, { ...session, exp })
  }
}

const CIPHER = 'aes-256-gcm'
const [NONCE_BYTES, TAG_BYTES] = [12, 16]

const seal = (text: string, key: Uint8Array): string => {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce)
  const bytes = Buffer.concat([cipher.update(text), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), bytes]).toString('base64url')
}

const open = (sealed: string, key: Uint8Array): string | undefined => {
  const bytes = Buffer.from(sealed, 'base64url')
  const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)]
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAuthTag(tag)
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString()
  } catch {
    return undefined
  }
}
