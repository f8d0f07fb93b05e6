/** Implied scopes by scope; without prototype. */
export type ScopeImplies = Readonly<Record<string, readonly string[]>>

/** Returns scopes with all implied ones, transitively. */
export const withImplied = (scopes: readonly string[], implies: ScopeImplies): ReadonlySet<string> => {
  const all = new Set(scopes)
  // A set also visits members added during iteration.
  for (const scope of all) for (const more of implies[scope] ?? []) all.add(more)
  return all
}
