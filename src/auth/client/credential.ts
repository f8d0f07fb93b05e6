import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { loginReasonOf } from '../../model/login.js'
import type { OutboundRequest } from '../../wire/http.js'
import type { CredentialRefusal, HttpCredential } from '../../wire/http-credential.js'
import { type BearerChallenge, bearerChallenge, isBasicOnly } from './challenges.js'
import { dpopProof } from './dpop.js'
import { aboutLogin, needsAuth, needsPassword, needsScopes, type SignInHint, storyOf } from './faults.js'
import type { CredentialPlace, CredentialRecord, CredentialStore, StepUp } from './record.js'
import { wantMore } from './step-up.js'
import type { TokenSource } from './token-source.js'

export interface CredentialContext extends CredentialPlace, SignInHint {
  readonly store: CredentialStore
  readonly clock: Clock
  /** True if the configuration has details of the login. */
  readonly isConfigured?: boolean
  /** The wall clock. */
  readonly nowMs: () => number
  readonly log: Logger
  /** Loads the client of authorization servers, which few proxies need. */
  readonly source: () => Promise<TokenSource>
  /** Called before a record is used, so that its secrets are masked. */
  readonly onRecord: (record: CredentialRecord) => void
  /** Called when only a login or time can help. */
  readonly onBlocked: () => void
}

type Headers = Readonly<Record<string, string>>

/** A server that needs a login is not asked again for this long, unless the store changes. */
const BLOCKED_MS = 60_000
/** Minimum delay after a failed refresh. */
const RETRY_MS = 5000
/** Tokens are refreshed when this time is left, or a tenth of their lifetime. */
const LEFT_MS = 60_000
/** Maximum wait for an authorization server if the current token is still valid. */
const PATIENCE_MS = 5000

/**
 * The login of one owner at one server: adds the current token to requests, refreshes it in time, and reports
 * a missing login. Reads the store on first use, and when notified of a change.
 */
export class Credential implements HttpCredential {
  readonly #context: CredentialContext
  readonly #origin: string
  #isRead = false
  #record: CredentialRecord | undefined
  /** Cached for each token. */
  #headers: Headers | undefined
  /** Nonce for proofs, from the server (RFC 9449 §9). */
  #nonce: string | undefined
  /** By the wall clock. */
  #renewAtMs = Number.POSITIVE_INFINITY
  #renewing: Promise<Headers | undefined> | undefined
  #acquiring: Promise<CredentialRecord> | undefined
  #blocked: { readonly fault: Fault; readonly untilMs: number } | undefined
  /** Caches the last request's URL: there are few, and parsing one costs as much as sending it. */
  #lastUrl = ''
  #isLastHere = false

  constructor(context: CredentialContext) {
    this.#context = context
    this.#origin = new URL(context.url).origin
  }

  /** The reason why the server cannot be asked now, if known. */
  get trouble(): Fault | undefined {
    return this.#blocked?.fault
  }

  /** The last error text of the authorization server, for operators only. */
  get problem(): string | undefined {
    try {
      return this.#context.store.find(this.#context)?.problem
    } catch {
      return undefined
    }
  }

  get place(): CredentialPlace {
    return this.#context
  }

  /** Reports whether there are tokens; false until the store was read for the first request. */
  get isSignedIn(): boolean {
    return this.#record?.tokens !== undefined
  }

  /** Refreshes tokens before a connection whose duration is measured. */
  async prepare(): Promise<void> {
    await this.#headersNow()
  }

  authorize(request: OutboundRequest): Headers | undefined | Promise<Headers | undefined> {
    if (!this.#isHere(request.url)) return undefined
    const headers = this.#headersNow()
    return this.#record?.dpopKey === undefined ? headers : this.#bound(request, headers)
  }

  refused(refusal: CredentialRefusal): Promise<void> | undefined {
    const challenge = bearerChallenge(refusal.headers['www-authenticate'])
    this.#nonce = refusal.headers['dpop-nonce'] ?? this.#nonce
    if (challenge?.error === 'use_dpop_nonce' && !refusal.isRepeated) return Promise.resolve()
    if (refusal.status !== 401)
      return challenge?.error === 'insufficient_scope' ? this.#insufficient(refusal, challenge) : undefined
    if (this.#needsPassword(refusal)) return Promise.reject(needsPassword())
    return this.#unauthorized(refusal, challenge)
  }

  /** Reports whether the server takes passwords, and nothing suggests that it takes tokens. */
  #needsPassword({ headers, sent }: CredentialRefusal): boolean {
    return (
      this.#context.isConfigured !== true && sent === undefined && isBasicOnly(headers['www-authenticate'])
    )
  }

  /** Reads the store again. Returns whether a blocked server may be asked again. */
  changed(): boolean {
    const before = this.#record?.tokens?.access
    this.#read()
    if (this.#record?.tokens === undefined || this.#record.tokens.access === before) return false
    const wasBlocked = this.#blocked !== undefined
    this.#blocked = undefined
    return wasBlocked || before === undefined
  }

  /** Adds the proof of possession to the headers (RFC 9449 §7). */
  async #bound(
    { method, url }: OutboundRequest,
    got: Headers | undefined | Promise<Headers | undefined>,
  ): Promise<Headers | undefined> {
    const headers = await got
    const { dpopKey, tokens } = this.#record ?? {}
    if (headers === undefined || tokens === undefined || dpopKey === undefined) return headers
    const dpop = await dpopProof(dpopKey, { method, url, token: tokens.access, nonce: this.#nonce })
    return { ...headers, dpop }
  }

  #isHere(url: string): boolean {
    if (url !== this.#lastUrl) {
      this.#lastUrl = url
      this.#isLastHere = new URL(url).origin === this.#origin
    }
    return this.#isLastHere
  }

  #headersNow(): Headers | undefined | Promise<Headers | undefined> {
    if (!this.#isRead) this.#read()
    if (this.#blocked !== undefined) this.#checkBlocked(this.#blocked)
    if (this.#headers === undefined || this.#context.nowMs() < this.#renewAtMs) return this.#headers
    return this.#renewed()
  }

  #checkBlocked({ fault, untilMs }: { readonly fault: Fault; readonly untilMs: number }): void {
    if (this.#context.clock.nowMs() < untilMs) throw fault
    // The store may have a valid token again.
    this.#read()
    this.#blocked = undefined
  }

  /** Refreshes in time, and keeps a valid token after a failure. Concurrent callers share one attempt. */
  async #renewed(): Promise<Headers | undefined> {
    const { clock, nowMs, log, server } = this.#context
    const endsMs = this.#record?.tokens?.endsMs ?? 0
    const isGood = (): boolean => endsMs > nowMs()
    const work = this.#renew()
    try {
      return isGood() ? await within(work, { clock, ms: PATIENCE_MS, timedOut: silent }) : await work
    } catch (thrown) {
      const fault = aboutLogin(thrown, this.#context)
      if (loginReasonOf(fault) !== 'auth-unreachable' || !isGood()) throw this.#block(fault)
      this.#renewAtMs = nowMs() + retryMs(fault)
      log.warn({ server, why: storyOf(thrown) }, 'token refresh failed; using the current token')
      return this.#headers
    }
  }

  #renew(): Promise<Headers | undefined> {
    const record = this.#record
    const stale = record?.tokens?.access
    if (record === undefined || stale === undefined) return Promise.reject(needsAuth(this.#context))
    this.#renewing ??= this.#context
      .source()
      .then(source => source.renew(record, stale))
      .then(renewed => this.#take(renewed))
      .finally(() => {
        this.#renewing = undefined
      })
    return this.#renewing
  }

  /** A 401 response means that the request was not processed and may be repeated. */
  async #unauthorized(refusal: CredentialRefusal, challenge: BearerChallenge | undefined): Promise<void> {
    const { sent, isRepeated } = refusal
    if (!isRepeated) {
      if (this.#isOld(refusal) || this.#readAnother()) return
      // One of many concurrent requests: the result of the first applies to all.
      if (this.#blocked !== undefined) this.#checkBlocked(this.#blocked)
      if (sent !== undefined && (await this.#replaced())) return
    }
    await this.#acquire(challenge, isRepeated)
  }

  /** Reports whether the refused token is not the current one. */
  #isOld({ sent }: CredentialRefusal): boolean {
    return sent?.['authorization'] !== this.#headers?.['authorization']
  }

  /** Reports whether a refused token was replaced; otherwise a login is needed. */
  async #replaced(): Promise<boolean> {
    try {
      await this.#renew()
      return true
    } catch (thrown) {
      const fault = aboutLogin(thrown, this.#context)
      if (loginReasonOf(fault) === 'auth-unreachable') throw this.#block(fault)
      return false
    }
  }

  /** Gets tokens that need no user; otherwise determines the requirements of a login. */
  async #acquire(challenge: BearerChallenge | undefined, isRepeated: boolean): Promise<void> {
    const { clock } = this.#context
    const fault = needsAuth(this.#context)
    const work = this.#acquired(challenge)
    try {
      const record = await within(work, { clock, ms: PATIENCE_MS, timedOut: () => fault })
      this.#take(record)
      if (isRepeated) throw fault
    } catch (thrown) {
      // A later result is used by the next request.
      work.catch(() => undefined)
      const blocked = this.#block(aboutLogin(thrown, this.#context))
      // A login may have arrived since the request was sent.
      if (!this.changed() || isRepeated) throw blocked
    }
  }

  /** Concurrent callers share one attempt. */
  #acquired(challenge: BearerChallenge | undefined, stepUp?: StepUp): Promise<CredentialRecord> {
    this.#acquiring ??= this.#context
      .source()
      .then(source => source.acquire(challenge, stepUp))
      .finally(() => {
        this.#acquiring = undefined
      })
    return this.#acquiring
  }

  async #insufficient(refusal: CredentialRefusal, challenge: BearerChallenge): Promise<void> {
    const { store, nowMs } = this.#context
    const { isRepeated } = refusal
    // The scopes may have been granted meanwhile.
    if (!isRepeated && (this.#isOld(refusal) || this.#readAnother())) return
    const record = this.#record
    if (record === undefined) throw needsAuth(this.#context)
    const { stepUp: before, asked } = record
    const stepUp = wantMore(before, { challenged: challenge.scopes, asked, nowMs: nowMs() })
    if (record.redirect === 'none' && !isRepeated) {
      this.#take(await this.#acquired(challenge, stepUp))
      return
    }
    if (stepUp !== before) {
      await store.locked(record, () => {
        this.#record = { ...(store.read(record) ?? record), stepUp }
        store.save(this.#record)
      })
    }
    throw needsScopes(this.#context, stepUp.scopes)
  }

  #block(fault: Fault): Fault {
    const waitMs = loginReasonOf(fault) === 'auth-unreachable' ? retryMs(fault) : BLOCKED_MS
    const { log, server } = this.#context
    if (fault.cause !== undefined) log.warn({ server, why: storyOf(fault.cause) }, 'cannot get a token')
    this.#blocked = { fault, untilMs: this.#context.clock.nowMs() + waitMs }
    this.#context.onBlocked()
    return fault
  }

  /** Reports whether the store has a different token than the current one. */
  #readAnother(): boolean {
    const before = this.#record?.tokens?.access
    this.#read()
    const after = this.#record?.tokens?.access
    return after !== undefined && after !== before
  }

  #read(): void {
    const { store, log, server } = this.#context
    this.#isRead = true
    try {
      this.#take(store.find(this.#context))
    } catch (thrown) {
      log.warn({ server, why: Fault.from(thrown).message }, 'cannot read the login of a server')
    }
  }

  #take(record: CredentialRecord | undefined): Headers | undefined {
    const tokens = record?.tokens
    if (tokens?.access !== this.#record?.tokens?.access) {
      this.#headers = tokens && { authorization: `${tokens.type} ${tokens.access}` }
      if (record !== undefined) this.#context.onRecord(record)
    }
    this.#record = record
    this.#renewAtMs = renewalMs(record)
    return this.#headers
  }
}

const silent = (): Fault => new Fault('timeout', 'its authorization server does not answer')

/** Returns the retry delay of an authorization server, limited to a short time. */
const retryMs = ({ data }: Fault): number => {
  const wanted = data?.['retryAfterMs']
  return typeof wanted === 'number' ? Math.min(Math.max(wanted, RETRY_MS), BLOCKED_MS) : RETRY_MS
}

/** Returns the refresh time; never for tokens without a refresh token: the server reports their end. */
const renewalMs = (record: CredentialRecord | undefined): number => {
  const { refresh, endsMs, lifeMs = 0 } = record?.tokens ?? {}
  const isRenewable = refresh !== undefined || record?.redirect === 'none'
  return isRenewable && endsMs !== undefined
    ? endsMs - Math.min(LEFT_MS, lifeMs / 10)
    : Number.POSITIVE_INFINITY
}
