import { isObject } from '../../kernel/object.js'
import type { IssuerRules } from './issuer.js'
import type { VerifiedToken } from './tokens.js'

type Claims = Readonly<Record<string, unknown>>

/** Tolerated clock difference to other machines. */
export const SKEW_MS = 60_000

/** Maximum length of a subject; OpenID Connect Core §2 allows 255. */
const SUBJECT_CHARS = 512

/** Evaluates the claims of a verified token; returns a generic reason if they are not sufficient. */
export const readClaims = (claims: Claims, rules: IssuerRules): VerifiedToken | string => {
  const { sub, exp, aud } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > SUBJECT_CHARS)
    return 'The access token has no subject'
  if (typeof exp !== 'number') return 'The access token has no expiry'
  const audience = textsIn(aud, undefined)
  const isNamed = rules.audience?.some(each => audience.includes(each)) === true
  const scopes =
    rules.scopeClaim === undefined ? [claims['scope'], claims['scp']] : [at(claims, rules.scopeClaim)]
  return {
    principal: `${rules.issuer} ${sub}`,
    audience: isNamed ? undefined : audience,
    scopes: scopes.flatMap(value => textsIn(value, ' ')),
    groups: rules.groupsClaim === undefined ? [] : textsIn(at(claims, rules.groupsClaim), undefined),
    endsMs: exp * 1000 + SKEW_MS,
  }
}

/** Returns the strings of a claim: a list, or a text split at `separator`. */
const textsIn = (value: unknown, separator: string | undefined): readonly string[] => {
  const texts = (Array.isArray(value) ? value : [value]).filter(each => typeof each === 'string')
  if (separator === undefined) return texts
  return texts.flatMap(text => text.split(separator)).filter(text => text !== '')
}

/** Returns the value at a dotted path; a claim name may itself be a URL with dots. */
const at = (claims: Claims, path: string): unknown => {
  if (Object.hasOwn(claims, path)) return claims[path]
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      claims,
    )
}
