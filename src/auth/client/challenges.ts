/** A challenge in `WWW-Authenticate` (RFC 9110 §11.6.1, RFC 6750 §3, RFC 9728 §5.1). */
interface Challenge {
  /** Lower-case. */
  readonly scheme: string
  /** Names are lower-case. */
  readonly parameters: ReadonlyMap<string, string>
}

const TOKEN = "[!#$%&'*+\\-.^_`|~\\dA-Za-z]+"
/** Some servers send unquoted values that are not tokens, such as URLs. */
const PARAMETER = `(${TOKEN})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`
const SCHEME = `(${TOKEN})(?:[ \\t]+[\\w\\-.~+/]+=*(?=\\s*(?:,|$)))?`
const PART = new RegExp(`[\\s,]*(?:${PARAMETER}|${SCHEME})`, 'y')

/** Parses the challenges of one header, or of several joined by commas. Never throws. @internal */
export const parseChallenges = (header: string): readonly Challenge[] => {
  const found: { readonly scheme: string; readonly parameters: Map<string, string> }[] = []
  for (let at = 0; at < header.length; ) {
    PART.lastIndex = at
    const match = PART.exec(header)
    if (match === null) {
      // Not parsable: continues after the next comma.
      at = header.indexOf(',', at + 1) + 1 || header.length
      continue
    }
    at = PART.lastIndex
    const [, name, quoted, plain, scheme] = match
    if (scheme !== undefined) found.push({ scheme: scheme.toLowerCase(), parameters: new Map() })
    else addTo(found.at(-1)?.parameters, name, quoted?.replace(/\\(.)/gs, '$1') ?? plain)
  }
  return found
}

/** The first of several parameters with the same name counts. */
const addTo = (parameters: Map<string, string> | undefined, name = '', value = ''): void => {
  const key = name.toLowerCase()
  if (parameters?.has(key) === false) parameters.set(key, value)
}

/** The requirements of a Bearer challenge. */
export interface BearerChallenge {
  readonly resourceMetadata: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly error: string | undefined
}

/** Returns the Bearer challenge of a header, preferably one with `resource_metadata`. */
export const bearerChallenge = (header: string | undefined): BearerChallenge | undefined => {
  const all = parseChallenges(header ?? '').filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')
  const best = all.find(({ parameters }) => parameters.has('resource_metadata')) ?? all[0]
  if (best === undefined) return undefined
  return {
    resourceMetadata: best.parameters.get('resource_metadata'),
    scopes: scopesIn(best.parameters.get('scope')),
    error: best.parameters.get('error'),
  }
}

/** Returns true for a header that asks for a user and password (RFC 7617), and for no token. */
export const isBasicOnly = (header: string | undefined): boolean =>
  bearerChallenge(header) === undefined &&
  parseChallenges(header ?? '').some(({ scheme }) => scheme === 'basic')

/** RFC 6749 §3.3, with a length limit. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/

/** Maximum number of scopes of a server. */
export const SCOPES_MAX = 200

/** Filters valid scopes and removes duplicates. */
export const scopesOf = (all: readonly string[]): readonly string[] =>
  [...new Set(all.filter(each => SCOPE.test(each)))].slice(0, SCOPES_MAX)

/** Parses a `scope` parameter (RFC 6749 §3.3); undefined if it names none. */
export const scopesIn = (text: string | undefined): readonly string[] | undefined => {
  const scopes = scopesOf(text?.split(/\s+/) ?? [])
  return scopes.length === 0 ? undefined : scopes
}
