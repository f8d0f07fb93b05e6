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
  const parts = glob
    .split('*')
    .map(part => ({ units: [...part], plain: part.includes('?') ? undefined : part }))
  const [first = { units: [] }, ...rest] = parts
  const last = rest.pop()
  return text => {
    // A surrogate pair is one character.
    const units: Units = SURROGATE.test(text) ? [...text] : text
    if (!fits(units, 0, first.units)) return false
    if (last === undefined) return units.length === first.units.length
    let at = first.units.length
    for (const part of rest) {
      // The first place is the best one, because anything may follow.
      at = placeOf(units, at, part)
      if (at < 0) return false
      at += part.units.length
    }
    const end = units.length - last.units.length
    return at <= end && fits(units, end, last.units)
  }
}

const SURROGATE = /[\ud800-\udfff]/

type Units = string | readonly string[]

interface Part {
  readonly units: readonly string[]
  /** Its text, if it has no `?`. */
  readonly plain: string | undefined
}

/** Returns the first place of a part; negative if there is none. */
const placeOf = (units: Units, from: number, part: Part): number => {
  if (typeof units === 'string' && part.plain !== undefined) return units.indexOf(part.plain, from)
  const end = units.length - part.units.length
  for (let at = from; at <= end; at += 1) if (fits(units, at, part.units)) return at
  return -1
}

const fits = (units: Units, at: number, part: readonly string[]): boolean => {
  if (at + part.length > units.length) return false
  for (let i = 0; i < part.length; i += 1) if (part[i] !== '?' && part[i] !== units[at + i]) return false
  return true
}
