import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { isIssuedToken } from '../../kernel/secrets/personal-token.js'
import { readClaims, SKEW_MS } from './claims.js'
import type { Issuer } from './issuer.js'
import type { Asks, TokenVerdict, TokenVerifier } from './tokens.js'

export interface IssuersOptions {
  readonly issuers: readonly Issuer[]
  /** Milliseconds since 1970. */
  readonly wallMs: () => number
  readonly log: Logger
}

/** Asymmetric signatures only; never `none` or shared secrets. */
const ALGORITHMS = ['RS', 'PS', 'ES'].flatMap(kind => [256, 384, 512].map(bits => `${kind}${bits}`))
ALGORITHMS.push('EdDSA', 'Ed25519')

/** Types of access tokens; several issuers use the general one. */
const STRICT_TYPE = /^(?:application\/)?at\+jwt$/i
const TYPE = /^(?:(?:application\/)?at\+jwt|jwt)$/i

/** Claims that occur only in ID tokens (OpenID Connect Core §2, §3.3.2.11). */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash']

const KEEP_SIGNED_MS = 5 * 60_000
const KEEP_TOLD_MS = 30_000

const MALFORMED = 'The access token is malformed'
const UNKNOWN = 'The access token is unknown or expired'

const invalid = (why: string): TokenVerdict => ({ is: 'invalid', why })

/** Verifies tokens of the configured issuers by signature or introspection. */
export class Issuers implements TokenVerifier {
  readonly #options: IssuersOptions

  constructor(options: IssuersOptions) {
    this.#options = options
  }

  async verify(token: string, asks: Asks): Promise<TokenVerdict> {
    const claimed = isSigned(token) ? claimedIssuer(token) : undefined
    if (claimed === undefined) return asks === 'anything' ? await this.#introspect(token) : this.#unasked
    const issuer = this.#options.issuers.find(({ rules }) => rules.issuer === claimed)
    if (issuer === undefined) return invalid('The issuer of the access token is not accepted')
    const known = asks === 'anything' ? issuer.keys : issuer.knownKeys
    if (known === undefined && asks === 'nothing') return { is: 'unasked' }
    try {
      return await this.#verifySigned(token, issuer, known ?? issuer.keys)
    } catch (thrown) {
      const isUnknownKey = thrown instanceof errors.JWKSNoMatchingKey
      return isUnknownKey && asks !== 'anything' ? { is: 'unasked' } : this.#failed(issuer, thrown)
    }
  }

  #failed(issuer: Issuer, thrown: unknown): TokenVerdict {
    return isTrouble(thrown) ? this.#unavailable(issuer, thrown) : invalid(reasonOf(thrown))
  }

  /** Without introspection, a request would not help. */
  get #unasked(): TokenVerdict {
    const canAsk = this.#options.issuers.some(({ rules }) => rules.introspection !== undefined)
    return canAsk ? { is: 'unasked' } : invalid(UNKNOWN)
  }

  async #verifySigned(token: string, { rules }: Issuer, keys: JWTVerifyGetKey): Promise<TokenVerdict> {
    const verified = await verifyWithEach(token, keys, {
      algorithms: ALGORITHMS,
      issuer: rules.issuer,
      clockTolerance: SKEW_MS / 1000,
      currentDate: new Date(this.#options.wallMs()),
      requiredClaims: ['exp'],
    })
    const { payload, protectedHeader } = verified
    const { typ } = protectedHeader
    const isType = rules.strictType ? STRICT_TYPE.test(typ ?? '') : typ === undefined || TYPE.test(typ)
    if (!isType || ID_TOKEN_CLAIMS.some(name => name in payload)) {
      return invalid('The token is not an access token')
    }
    return verdictOn(payload, rules, KEEP_SIGNED_MS)
  }

  /**
   * Asks the issuers about an opaque token, in order, until one knows it: each could misuse the token here.
   */
  async #introspect(token: string): Promise<TokenVerdict> {
    if (isIssuedToken(token)) return invalid(UNKNOWN)
    let unanswered: TokenVerdict | undefined
    for (const issuer of this.#options.issuers.filter(each => each.mayBeAskedAbout(token))) {
      const { isActive, verdict } = await this.#askAbout(token, issuer)
      if (isActive) return verdict
      if (verdict.is === 'unavailable') unanswered = verdict
    }
    return unanswered ?? invalid(UNKNOWN)
  }

  async #askAbout(token: string, issuer: Issuer): Promise<{ isActive: boolean; verdict: TokenVerdict }> {
    try {
      const claims = await issuer.introspect(token)
      const isActive = claims['active'] === true
      return { isActive, verdict: isActive ? this.#judge(claims, issuer) : invalid(UNKNOWN) }
    } catch (thrown) {
      return { isActive: false, verdict: this.#unavailable(issuer, thrown) }
    }
  }

  #judge(claims: JWTPayload, { rules }: Issuer): TokenVerdict {
    const { iss = rules.issuer, nbf = 0 } = claims
    if (iss !== rules.issuer) return invalid(UNKNOWN)
    const latestMs = this.#options.wallMs() + SKEW_MS
    if (typeof nbf !== 'number' || nbf * 1000 > latestMs) return invalid(TOO_EARLY)
    return verdictOn(claims, rules, KEEP_TOLD_MS)
  }

  #unavailable({ rules: { issuer } }: Issuer, thrown: unknown): TokenVerdict {
    this.#options.log.warn({ issuer, err: Fault.from(thrown).message }, 'cannot reach an issuer of tokens')
    return { is: 'unavailable' }
  }
}

const verifyWithEach = async (
  token: string,
  keys: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> => {
  try {
    return await jwtVerify(token, keys, options)
  } catch (thrown) {
    if (thrown instanceof errors.JWKSMultipleMatchingKeys) return await verifyWithOne(token, thrown, options)
    throw thrown
  }
}

/** Tries one key for a token without a key id. */
const verifyWithOne = async (
  token: string,
  keys: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> => {
  let failure: unknown
  for await (const key of keys) {
    try {
      return await jwtVerify(token, key, options)
    } catch (thrown) {
      if (!(thrown instanceof errors.JWSSignatureVerificationFailed)) throw thrown
      failure = thrown
    }
  }
  throw failure
}

const verdictOn = (claims: JWTPayload, rules: Issuer['rules'], keepMs: number): TokenVerdict => {
  const token = readClaims(claims, rules)
  return typeof token === 'string' ? invalid(token) : { is: 'good', token, keepMs }
}

/** Reports whether a token is a signed JSON Web Token (RFC 7519 §3.1). */
const isSigned = (token: string): boolean => {
  try {
    return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token) && decodeProtectedHeader(token).alg !== undefined
  } catch {
    return false
  }
}

/** Returns the unverified issuer of a token. */
const claimedIssuer = (token: string): string => {
  try {
    return decodeJwt(token).iss ?? ''
  } catch {
    return ''
  }
}

const TOO_EARLY = 'The access token is not valid yet'

const REASONS: Readonly<Record<string, string>> = {
  [errors.JWTExpired.code]: 'The access token has expired',
  [errors.JWSSignatureVerificationFailed.code]: 'The signature of the access token is wrong',
  [errors.JWKSNoMatchingKey.code]: 'The access token is signed with an unknown key',
  [errors.JOSEAlgNotAllowed.code]: 'The access token is signed with an algorithm that is not accepted',
}

/** Returns a generic reason. */
const reasonOf = (thrown: unknown): string => {
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    return thrown.claim === 'nbf' ? TOO_EARLY : 'A claim of the access token is missing or wrong'
  }
  return (thrown instanceof errors.JOSEError && REASONS[thrown.code]) || MALFORMED
}

/** Reports whether the keys could not be fetched, so that the token may be valid. */
const isTrouble = (thrown: unknown): boolean =>
  thrown instanceof Fault || thrown instanceof errors.JWKSInvalid || thrown instanceof errors.JWKSTimeout
