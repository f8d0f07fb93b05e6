import picomatch from 'picomatch'

/**
 * Matches names, not paths: `*` also matches dots and slashes. A name always matches itself; an empty or
 * overlong pattern matches nothing else.
 */
export const matcherOf = (globs: readonly string[]): ((name: string) => boolean) => {
  if (globs.length === 0) return () => false
  const names = new Set(globs)
  const patterns = globs.filter(({ length }) => length > 0 && length <= PATTERN_CHARS)
  const matches = picomatch(patterns, { dot: true, bash: true, windows: false })
  return name => names.has(name) || matches(name)
}

/** Longer ones make picomatch throw. */
const PATTERN_CHARS = 65_536
