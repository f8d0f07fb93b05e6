import type { Clock } from '../../kernel/async/clock.js'
import type { Caller } from '../../kernel/caller.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { isPersonalToken, tokenHash } from '../../kernel/secrets/personal-token.js'
import { addressGroup, PerMinute } from '../per-minute.js'
import { RefusedCredentials } from '../refused-credentials.js'
import { isWellFormed, readBearer } from './bearer.js'
import { type AccessRefusal, type Challenge, refuseAccess, refuseForNow } from './challenge.js'
import { type AccessRules, People } from './people.js'
import type { ProtectedResource } from './protected-resource.js'
import type { TokenChecks } from './token-checks.js'
import type { TokenTable, TokenVerdict, VerifiedToken } from './tokens.js'

/** The parts of a request that the gate needs. */
export interface RequestHead {
  readonly authorization: string | undefined
  /** True if that header occurs more than once. */
  readonly isRepeated: boolean
  readonly path: string
  readonly address: string
}

export interface AccessGateOptions {
  readonly rules: AccessRules
  readonly resource: ProtectedResource
  /** Tokens issued by the embedded authorization server. */
  readonly issued?: TokenTable | undefined
  /** Undefined if no issuer is configured. */
  readonly checks?: TokenChecks | undefined
  /** Returns the caller for an address without a credential, if allowed. */
  readonly withoutCredential: (address: string) => Caller | undefined
  /** Counts refused credentials; shared with the sign-in pages and `/token`. */
  readonly refusals?: RefusedCredentials | undefined
  readonly bounds: LimitCounters
  readonly clock: Clock
  /** Milliseconds since 1970. */
  readonly wallMs: () => number
  readonly log: Logger
}

const RETRY_MS = 5000
const UNKNOWN = 'The access token is unknown or expired'

/** Authenticates a request by its head, or refuses it. */
export class AccessGate {
  readonly #options: AccessGateOptions
  readonly #failures: PerMinute
  #people: People
  readonly #refusals: RefusedCredentials

  constructor(options: AccessGateOptions) {
    this.#options = options
    this.#failures = new PerMinute(options.clock)
    this.#refusals = options.refusals ?? new RefusedCredentials(options.log)
    this.#people = new People(options.rules)
  }

  /** Number of refused credentials. */
  get refused(): number {
    return this.#refusals.count
  }

  /** Applies new rules from the next request on. */
  reload(rules: AccessRules): void {
    this.#people = new People(rules)
  }

  admit(head: RequestHead): Caller | AccessRefusal | Promise<Caller | AccessRefusal> {
    const credential = readBearer(head.authorization, head.isRepeated)
    if (credential === 'none') {
      const caller = this.#options.withoutCredential(head.address)
      return caller ?? this.#challenge(401, head, { description: 'A bearer token is needed' })
    }
    if (credential === 'several') {
      const description = 'The request has more than one credential'
      return this.#challenge(400, head, { error: 'invalid_request', description })
    }
    return this.#verify(credential.token, head)
  }

  /**
   * Returns the caller of an earlier request with current rights; undefined if the credential expired, is not
   * known any more, or identifies another principal.
   */
  renew(caller: Caller): Caller | undefined {
    const { proof, scopes, edge } = caller
    if (scopes === undefined) return caller
    if (proof === undefined || this.#hasEnded(caller)) return undefined
    const { sha256, isFromIssuer } = proof
    const token = isFromIssuer ? this.#options.checks?.renew(sha256) : this.#find(sha256)
    if (token !== undefined) return this.#renewed(caller, this.#people.callerOf(token, proof))
    // The replica that checked the issuer's token checks it again.
    return isFromIssuer && edge !== undefined ? caller : undefined
  }

  #renewed(caller: Caller, now: Caller): Caller | undefined {
    if (now.principal !== caller.principal || this.#hasEnded(now) || !this.#mayEnter(now)) return undefined
    const isSame = now.scopes === caller.scopes && now.endsMs === caller.endsMs
    return isSame ? caller : { ...caller, ...now }
  }

  /** Reports whether another replica may know the credential of a forwarded caller. */
  mayBeElsewhere({ proof, edge }: Caller): boolean {
    const isSought = this.#options.issued?.seek !== undefined && edge !== undefined
    return isSought && proof?.isFromIssuer === false && this.#find(proof.sha256) === undefined
  }

  /** Refuses a request for missing scopes, and lists all required ones. */
  insufficientScope(path: string, scopes: readonly string[]): AccessRefusal {
    const description = 'The access token does not allow this'
    return this.#challenge(403, { path }, { error: 'insufficient_scope', description, scopes })
  }

  #verify(text: string, head: RequestHead): Caller | AccessRefusal | Promise<Caller | AccessRefusal> {
    const { checks } = this.#options
    const sha256 = tokenHash(text)
    const known = this.#find(sha256)
    const token = known ?? checks?.recall(sha256)
    const why = token === undefined ? UNKNOWN : this.#against(token, head)
    if (token !== undefined && why === undefined) {
      return this.#enter(this.#callerOf(token, sha256, known === undefined), head)
    }
    if (!isWellFormed(text)) return this.#invalid(head, 'The access token is malformed')
    if (token !== undefined || isPersonalToken(text)) return this.#invalid(head, why ?? UNKNOWN)
    return this.#seek(text, sha256, head)
  }

  /** Asks other replicas for an unknown token, before the issuers. */
  #seek(
    text: string,
    sha256: string,
    head: RequestHead,
  ): Caller | AccessRefusal | Promise<Caller | AccessRefusal> {
    const { issued } = this.#options
    if (issued?.seek === undefined || this.#isOverLimit(head)) return this.#check(text, sha256, head)
    return issued.seek(sha256).then(
      () => {
        const found = issued.find(sha256)
        if (found === undefined) return this.#check(text, sha256, head)
        return this.#conclude({ is: 'good', token: found, keepMs: 0 }, sha256, head, false)
      },
      () => this.#conclude({ is: 'unavailable' }, sha256, head),
    )
  }

  #check(
    text: string,
    sha256: string,
    head: RequestHead,
  ): Caller | AccessRefusal | Promise<Caller | AccessRefusal> {
    const { checks } = this.#options
    if (checks === undefined) return this.#invalid(head, UNKNOWN)
    const address = addressGroup(head.address)
    const asks = this.#isOverLimit(head) ? 'keys' : 'anything'
    const checked = checks.check(text, sha256, { address, asks })
    return checked.then(verdict => this.#conclude(verdict, sha256, head))
  }

  #conclude(
    verdict: TokenVerdict,
    sha256: string,
    head: RequestHead,
    isFromIssuer = true,
  ): Caller | AccessRefusal {
    if (verdict.is === 'unavailable') {
      return refuseForNow(503, RETRY_MS, 'The access token cannot be checked at the moment')
    }
    if (verdict.is !== 'good') return this.#invalid(head, verdict.is === 'invalid' ? verdict.why : UNKNOWN)
    const why = this.#against(verdict.token, head)
    if (why !== undefined) return this.#invalid(head, why)
    return this.#enter(this.#callerOf(verdict.token, sha256, isFromIssuer), head)
  }

  #find(sha256: string): VerifiedToken | undefined {
    return this.#people.find(sha256) ?? this.#options.issued?.find(sha256)
  }

  /** Returns the reason to refuse a token for this request, if any. */
  #against(token: VerifiedToken, { path }: RequestHead): string | undefined {
    if (this.#hasEnded(token)) return 'The access token has expired'
    if (this.#options.resource.isAudience(token.audience, path)) return undefined
    return 'The access token is for another resource'
  }

  #hasEnded({ endsMs }: Pick<VerifiedToken, 'endsMs'>): boolean {
    return endsMs <= this.#options.wallMs()
  }

  #callerOf(token: VerifiedToken, sha256: string, isFromIssuer: boolean): Caller {
    return this.#people.callerOf(token, { sha256, isFromIssuer })
  }

  #mayEnter({ scopes }: Caller): boolean {
    return scopes?.has(this.#people.baseScope) === true
  }

  #enter(caller: Caller, { path }: RequestHead): Caller | AccessRefusal {
    if (this.#mayEnter(caller)) return caller
    const { principal, scopes } = caller
    const wanted = this.#people.baseScope
    this.#options.log.info({ principal, wanted, has: [...(scopes ?? [])] }, 'a token lacks the base scope')
    return this.insufficientScope(path, [wanted])
  }

  #isOverLimit({ address }: RequestHead): boolean {
    return this.#failures.count(addressGroup(address)) >= this.#options.bounds.max.authFailures
  }

  #invalid(head: RequestHead, description: string): AccessRefusal {
    const { address, path } = head
    const { bounds } = this.#options
    if (this.#isOverLimit(head)) {
      bounds.hit('authFailures', { client: address })
      return refuseForNow(429, this.#failures.leftMs, 'Too many credentials of this address were refused')
    }
    this.#failures.add(addressGroup(address))
    this.#refusals.report({ address, path, why: description })
    return this.#challenge(401, head, { error: 'invalid_token', description })
  }

  #challenge(
    status: 400 | 401 | 403,
    { path }: Pick<RequestHead, 'path'>,
    words: Pick<Challenge, 'description'> & Partial<Challenge>,
  ): AccessRefusal {
    const { resource } = this.#options
    const metadata = resource.metadataUrl(path)
    // Without an authorization server, clients cannot request scopes.
    const scopes = metadata === undefined ? [] : resource.scopesAt(path)
    return refuseAccess(status, { scopes, metadata, ...words })
  }
}
