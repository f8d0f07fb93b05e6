import type { Flags, Verb, VerbArguments } from './verb.js'

type Values = Map<string, string | true | readonly string[]>

/**
 * Parses simple arguments of a verb exactly as yargs would: whole names of flags, each with a value that
 * cannot be mistaken for anything else. Undefined for everything else, valid or not, which is left to yargs.
 */
export const parseSimple = (
  { flags, usage }: Verb,
  words: readonly string[],
): VerbArguments<Flags> | undefined => {
  const [name = '', ...places] = usage.split(' ')
  const values: Values = new Map()
  const free: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    const flag = readFlag(flags, word, words[at + 1])
    if (isValue(word)) free.push(word)
    else if (flag === undefined || !put(values, flag)) return undefined
    else if (!flag.isJoined) at += 1
  }
  if (!place(values, places, free)) return undefined
  for (const [flag, { default: fallback }] of Object.entries(flags)) {
    if (typeof fallback === 'string' && !values.has(flag)) values.set(flag, fallback)
  }
  const named = [...values].flatMap(([key, value]) => [
    [key, value] as const,
    [camelCase(key), value] as const,
  ])
  return { ...Object.fromEntries(named), _: [name], $0: 'mcp-proxy' }
}

/** Whether a word is a value wherever it stands. */
const isValue = (word: string | undefined): word is string => word !== undefined && /^[^-"']/.test(word)

interface Flag {
  readonly name: string
  readonly value: string | true
  readonly isList: boolean
  /** Whether it is one word, with its value in it if it has one. */
  readonly isJoined: boolean
}

const BOOLEANS = new Set<string | undefined>(['true', 'false'])

/** Those of a flag with one name. */
const optionsOf = (flags: Flags, name: string): Flags[string] | undefined => {
  const found = Object.hasOwn(flags, name) ? flags[name] : undefined
  return found?.alias === undefined ? found : undefined
}

const readFlag = (flags: Flags, word: string, next: string | undefined): Flag | undefined => {
  const [, name = '', joined] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? []
  const options = optionsOf(flags, name)
  if (options === undefined) return undefined
  const isJoined = joined !== undefined
  if (options.type === 'boolean') {
    if (isJoined || BOOLEANS.has(next)) return undefined
    return { name, value: true, isList: false, isJoined: true }
  }
  const value = joined ?? next
  if (!isValue(value) || options.choices?.includes(value) === false) return undefined
  return { name, value, isList: options.array === true, isJoined }
}

/** Adds the value of a flag; false if it may not be given again. */
const put = (values: Values, { name, value, isList }: Flag): boolean => {
  const before = values.get(name) ?? []
  if (typeof before !== 'object' || (before.length > 0 && !isList)) return false
  values.set(name, isList && value !== true ? [...before, value] : value)
  return true
}

/** Puts words into the places of the usage, such as `<tool> [pairs..]`; false if there are more or fewer. */
const place = (values: Values, places: readonly string[], words: readonly string[]): boolean => {
  let at = 0
  for (const each of places) {
    const [, opening, name = '', dots] = /^([<[])(\w+)(\.\.)?[>\]]$/.exec(each) ?? []
    const found = dots === undefined ? words[at] : words.slice(at)
    at = dots === undefined ? at + 1 : words.length
    if (found !== undefined) values.set(name, found)
    else if (opening === '<') return false
  }
  return words.length <= at
}

const camelCase = (name: string): string =>
  name.replace(/-([a-z])/g, (_dash, letter: string) => letter.toUpperCase())
