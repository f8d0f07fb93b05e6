/** Returns the alias that a scheme prefix was made from. */
export type AliasFinder = (schemeAlias: string) => string | undefined

export interface OwnedUri {
  readonly alias: string
  readonly uri: string
}

/** Hosts recognize interfaces by this scheme (SEP-1865), so it stays in front. */
const UI = 'ui://'
/**
 * The scheme of skills (SEP-2640). The alias becomes the first segment, so that references between the files
 * of a skill resolve, and its name stays the last segment.
 */
const SKILL = 'skill://'

/** Returns a URI in normal form (RFC 3986 §6.2.2). */
export const normalUri = (uri: string): string => (URL.canParse(uri) ? new URL(uri).href : uri)

/** `_` is illegal in a URI scheme (RFC 3986 §3.1), and no alias holds a dot. */
const schemeAlias = (alias: string): string => alias.replaceAll('_', '.')

/** Returns the exposed form of a server's URI or template; `splitUri` reverses it. */
export const exposedUri = (alias: string, uri: string): string => {
  if (uri.startsWith(SKILL)) return `${SKILL}${alias}/${uri.slice(SKILL.length)}`
  return uri.startsWith(UI)
    ? `${UI}${schemeAlias(alias)}+${uri.slice(UI.length)}`
    : `${schemeAlias(alias)}+${uri}`
}

/** Returns whether a URI may be one of a skill. A server's own ones may look like exposed ones. */
export const isSkillUri = (uri: string): boolean => uri.startsWith(SKILL)

/**
 * Finds aliases by exact match, otherwise by a unique match in any case: URL parsers write schemes in lower
 * case.
 */
export const schemeAliases = (aliases: Iterable<string>): AliasFinder => {
  const exact = new Map<string, string>()
  const folded = new Map<string, string | undefined>()
  for (const alias of new Set(aliases)) {
    const written = schemeAlias(alias)
    const lower = written.toLowerCase()
    exact.set(written, alias)
    folded.set(lower, folded.has(lower) ? undefined : alias)
  }
  return written => exact.get(written) ?? folded.get(written.toLowerCase())
}

/** Splits an exposed URI; undefined without a known alias. */
export const splitUri = (exposed: string, find: AliasFinder): OwnedUri | undefined => {
  if (isSkillUri(exposed)) return splitSkillUri(exposed, find)
  const start = exposed.startsWith(UI) ? UI.length : 0
  const plus = exposed.indexOf('+', start)
  if (plus === -1) return undefined
  const alias = find(exposed.slice(start, plus))
  if (alias === undefined) return undefined
  return { alias, uri: exposed.slice(0, start) + exposed.slice(plus + 1) }
}

/** A URI of one segment is the folder of all skills. */
const splitSkillUri = (exposed: string, find: AliasFinder): OwnedUri | undefined => {
  const slash = exposed.indexOf('/', SKILL.length)
  const end = slash === -1 ? exposed.length : slash
  const segment = exposed.slice(SKILL.length, end)
  // A dot never represents a `_` here.
  const alias = segment.includes('.') ? undefined : find(schemeAlias(segment))
  return alias === undefined ? undefined : { alias, uri: `${SKILL}${exposed.slice(end + 1)}` }
}

/**
 * Returns how many literal characters of a template (RFC 6570) a URI matches; undefined without a match.
 * Linear time.
 */
export const matchTemplate = (template: string, uri: string): number | undefined => {
  const literals = template.split(/\{[^{}]*\}/)
  const first = literals[0] ?? ''
  const last = literals.at(-1) ?? ''
  if (literals.length === 1) return template === uri ? template.length : undefined
  if (!uri.startsWith(first)) return undefined
  const end = uri.length - last.length
  if (end < first.length || !uri.endsWith(last)) return undefined
  let at = first.length
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at)
    if (found === -1 || found + literal.length > end) return undefined
    at = found + literal.length
  }
  return literals.reduce((sum, literal) => sum + literal.length, 0)
}
