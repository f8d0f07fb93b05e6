/**
 * Whether a URI could come from a URI template (RFC 6570): how many literal characters of the template it holds, in order;
 * undefined if it could not. Expressions match anything. Linear in both texts: nothing is tried twice, because servers
 * write templates and clients write URIs.
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
