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

/**
 * Matches texts that a peer chooses, in linear time: `*` stands for any characters, `?` for one, and no other
 * character is special.
 */
export const textMatcherOf = (glob: string): ((text: string) => boolean) => {
  const [first = '', ...rest] = glob.split('*')
  const last = rest.pop()
  if (glob.includes('?')) return unitMatcherOf([first, ...rest], last)
  return text => {
    if (last === undefined) return text === first
    if (!text.startsWith(first)) return false
    let at = first.length
    for (const part of rest) {
      // The first place is the best one, because anything may follow.
      at = text.indexOf(part, at)
      if (at < 0) return false
      at += part.length
    }
    return at <= text.length - last.length && text.endsWith(last)
  }
}

/** The same for patterns with `?`, for which a surrogate pair is one character. */
const unitMatcherOf = (parts: readonly string[], ending: string | undefined) => {
  const [first = [], ...rest] = parts.map(part => Array.from(part))
  const last = ending === undefined ? undefined : Array.from(ending)
  return (text: string): boolean => {
    const units = Array.from(text)
    if (!fits(units, 0, first)) return false
    if (last === undefined) return units.length === first.length
    let at = first.length
    const end = units.length - last.length
    for (const part of rest) {
      while (at <= end && !fits(units, at, part)) at += 1
      at += part.length
    }
    return at <= end && fits(units, end, last)
  }
}

const fits = (units: readonly string[], at: number, part: readonly string[]): boolean => {
  if (at + part.length > units.length) return false
  for (let i = 0; i < part.length; i += 1) if (part[i] !== '?' && part[i] !== units[at + i]) return false
  return true
}
