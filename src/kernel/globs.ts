import picomatch from 'picomatch'

/** Matches names, not paths: `*` matches dots and slashes too. A name always matches itself. */
export const matcherOf = (globs: readonly string[]): ((name: string) => boolean) => {
  if (globs.length === 0) return () => false
  const names = new Set(globs)
  const matches = picomatch([...globs], { dot: true, bash: true, windows: false })
  return name => names.has(name) || matches(name)
}
