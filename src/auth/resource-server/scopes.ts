/** From a scope to those that it includes; without prototype. */
export type ScopeImplies = Readonly<Record<string, readonly string[]>>

/** Scopes with all that they include, and what that includes (AU-37). */
export const withImplied = (scopes: readonly string[], implies: ScopeImplies): ReadonlySet<string> => {
  const all = new Set(scopes)
  // A set visits what is added to it meanwhile.
  for (const scope of all) for (const more of implies[scope] ?? []) all.add(more)
  return all
}
