/** The options of `connect`. */
export interface ShimArguments {
  readonly config?: string
  readonly view?: string
  readonly workspace?: string
  readonly client?: string
  readonly 'no-fallback'?: true
  readonly verbose?: true
}

const TEXTS = new Set(['config', 'view', 'workspace', 'client'])
const FLAGS = new Set(['no-fallback', 'verbose'])

/** Parses the command line by hand, since a parser takes too long to load. Throws an Error. */
export const readArguments = (words: readonly string[]): ShimArguments => {
  const found: Record<string, string | true> = {}
  for (let at = 0; at < words.length; at++) {
    const [, name = '', joined] = /^--([a-z-]+)(?:=(.*))?$/s.exec(words[at] ?? '') ?? []
    if (FLAGS.has(name) && joined === undefined) found[name] = true
    else if (TEXTS.has(name)) {
      const value = joined ?? words[++at]
      if (value === undefined) throw new Error(`--${name} needs a value`)
      if (Object.hasOwn(found, name)) throw new Error(`--${name} may be given once`)
      found[name] = value
    } else throw new Error(`unknown argument: ${words[at]}`)
  }
  return found
}
