import parser from 'yargs-parser'
import type { Flags, Verb, VerbArguments } from './shared/verb.js'

/** Grammar options shared by both parsers. */
export const GRAMMAR = {
  'parse-numbers': false,
  'parse-positional-numbers': false,
  'dot-notation': false,
  'greedy-arrays': false,
  'boolean-negation': false,
} as const

/**
 * Parses common arguments of a verb with the parser inside yargs. Returns undefined for all others, valid or
 * not; yargs then checks them, explains errors and prints help.
 */
export const parseSimple = (
  { flags, usage }: Verb,
  words: readonly string[],
): VerbArguments<Flags> | undefined => {
  if (!words.every(isSimple) || words.some((word, at) => lacksValue(flags, word, words[at + 1])))
    return undefined
  const named = (isWanted: (options: Flags[string]) => boolean): string[] =>
    Object.keys(flags).filter(flag => isWanted(flags[flag] ?? {}))
  const { argv, error } = parser.detailed([...words], {
    boolean: named(({ type }) => type === 'boolean'),
    string: named(({ type }) => type !== 'boolean'),
    array: named(({ array }) => array === true),
    configuration: GRAMMAR,
  })
  const { _: free, ...values }: Record<string, unknown> & { readonly _: readonly (string | number)[] } = argv
  const [name = '', ...places] = usage.split(' ')
  const positionals = place(places, free.map(String))
  if (error !== null || positionals === undefined) return undefined
  for (const [flag, options] of Object.entries(flags)) {
    if (!isUsual(values[flag], options)) return undefined
    if (values[flag] === undefined && typeof options.default === 'string') values[flag] = options.default
    if (values[flag] !== undefined) values[camelCase(flag)] = values[flag]
  }
  const known = new Set(Object.keys(flags).flatMap(flag => [flag, camelCase(flag)]))
  if (!Object.keys(values).every(key => known.has(key))) return undefined
  return { ...values, ...positionals, _: [name], $0: 'mcp-proxy' }
}

/** Leaves short flags, quoted values and unusual flag names to yargs. */
const isSimple = (word: string): boolean => /^(?:--[a-z]+(?:-[a-z]+)*(?:=[^"'].*)?$|[^-"'])/s.test(word)

/** Returns whether yargs accepts a flag's value unchanged. */
const isUsual = (value: unknown, { alias, array, choices, type }: Flags[string]): boolean => {
  if (value === undefined) return true
  if (alias !== undefined) return false
  if (type === 'boolean') return value === true
  if (array === true)
    return (
      Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'string' && one !== '')
    )
  return typeof value === 'string' && value !== '' && choices?.includes(value) !== false
}

/**
 * Assigns words to the positionals of a usage such as `<tool> [pairs..]`; undefined if the number of words
 * differs.
 */
const place = (
  places: readonly string[],
  words: readonly string[],
): Record<string, string | string[]> | undefined => {
  const placed: Record<string, string | string[]> = {}
  let at = 0
  for (const each of places) {
    const [, opening, name = '', dots] = /^([<[])(\w+)(\.\.)?[>\]]$/.exec(each) ?? []
    const found = dots === undefined ? words[at] : words.slice(at)
    at = dots === undefined ? at + 1 : words.length
    if (found !== undefined) placed[name] = found
    else if (opening === '<') return undefined
  }
  return words.length <= at ? placed : undefined
}

const camelCase = (name: string): string =>
  name.replace(/-([a-z])/g, (_dash, letter: string) => letter.toUpperCase())

/** Reports whether a flag lacks its value. */
const lacksValue = (flags: Flags, word: string, next = '-'): boolean =>
  /^--[^=]+$/.test(word) && flags[word.slice(2)]?.type !== 'boolean' && next.startsWith('-')
