import type { ArgumentsCamelCase, Options } from 'yargs'
import type { Verb } from './verb.js'

type Flags = Readonly<Record<string, Options>>
type Values = Map<string, string | true | readonly string[]>

/**
 * The arguments of a verb, as yargs would read them, from words about which nothing is special: whole names of flags that exist, each with a
 * value that cannot be taken for anything else. Undefined for all other words, right or wrong: yargs reads those.
 */
export const plainArguments = <T>(
  { flags, usage }: Verb<T>,
  words: readonly string[],
): ArgumentsCamelCase<T> | undefined => {
  const [name = '', ...places] = usage.split(' ')
  const values: Values = new Map()
  const free: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    const flag = readFlag(flags, word, words[at + 1])
    if (isValue(word)) free.push(word)
    else if (flag === undefined || !put(values, flag)) return undefined
    else at += flag.isJoined ? 0 : 1
  }
  if (!place(values, places, free)) return undefined
  for (const [flag, { default: fallback }] of Object.entries(flags)) {
    if (typeof fallback === 'string' && !values.has(flag)) values.set(flag, fallback)
  }
  const named = [...values].flatMap(([key, value]) => [
    [key, value] as const,
    [camelCase(key), value] as const,
  ])
  return { ...Object.fromEntries(named), _: [name], $0: 'mcp-proxy' } as ArgumentsCamelCase<T>
}

/** A word that is a value wherever it stands. */
const isValue = (word: string | undefined): word is string => word !== undefined && /^[^-"']/.test(word)

/** A flag that was given. */
interface Flag {
  readonly name: string
  readonly value: string | true
  readonly isList: boolean
  /** Whether it is a word alone, with its value in it if it has one. */
  readonly isJoined: boolean
}

const readFlag = (flags: Flags, word: string, next: string | undefined): Flag | undefined => {
  const [, name = '', joined] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? []
  const options = Object.hasOwn(flags, name) ? flags[name] : undefined
  if (options === undefined) return undefined
  if (options.type === 'boolean') {
    const hasValue = joined !== undefined || next === 'true' || next === 'false'
    return hasValue ? undefined : { name, value: true, isList: false, isJoined: true }
  }
  const value = joined ?? next
  if (!isValue(value) || options.choices?.includes(value) === false) return undefined
  return { name, value, isList: options.array === true, isJoined: joined !== undefined }
}

/** Whether the flag may be given, once more if it was before. */
const put = (values: Values, { name, value, isList }: Flag): boolean => {
  const before = values.get(name) ?? []
  if (typeof before !== 'object' || (before.length > 0 && !isList)) return false
  values.set(name, isList && value !== true ? [...before, value] : value)
  return true
}

/** Puts words where the usage has places for them, such as `<tool> [pairs..]`; false if there are more or fewer of them. */
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
