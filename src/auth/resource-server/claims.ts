import { isObject } from '../../kernel/object.js'
import type { IssuerRules } from './issuer.js'
import type { VerifiedToken } from './tokens.js'

type Claims = Readonly<Record<string, unknown>>

/** Clocks of others may be this far from ours. */
export const SKEW_MS = 60_000

/** The longest subject; OpenID Connect Core §2 allows 255. */
const SUBJECT_CHARS = 512

/**
 * What the claims of a token of an issuer prove, once the token itself is known to be good; a text says why
 * that is nothing, in general words.
 */
export const readClaims = (claims: Claims, rules: IssuerRules): VerifiedToken | string => {
  const { sub, exp, aud } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > SUBJECT_CHARS)
    return 'The access token names nobody'
  if (typeof exp !== 'number') return 'The access token has no end'
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

/** The texts of a claim that is one, or a list of some; `separator` divides one that holds several. */
const textsIn = (value: unknown, separator: string | undefined): readonly string[] => {
  const texts = (Array.isArray(value) ? value : [value]).filter(each => typeof each === 'string')
  if (separator === undefined) return texts
  return texts.flatMap(text => text.split(separator)).filter(text => text !== '')
}

/** The value at a dotted path; names of claims may be URLs, which have dots of their own. */
const at = (claims: Claims, path: string): unknown => {
  if (Object.hasOwn(claims, path)) return claims[path]
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      claims,
    )
}
