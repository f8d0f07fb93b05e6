import { isObject } from '../../kernel/object.js'

/** Returns a string, number or boolean as text; undefined for other values. */
export const scalarText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined

/** Returns a text with other characters than white space. */
export const filled = (value: unknown): string | undefined => {
  const text = scalarText(value)
  return text === undefined || text.trim() === '' ? undefined : text
}

export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.flatMap(each => scalarText(each) ?? []) : []

/** Values that were read, and whether others were left out. */
interface Read<T> {
  readonly values: readonly T[]
  readonly isPartial: boolean
}

const WORD = /(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'])+/g
const QUOTED = /"((?:[^"\\]|\\.)*)"|'([^']*)'/g

/** Splits a text at white space as a shell does; a text of several lines has an argument in each. */
const split = (text: string): readonly string[] => {
  const lines = text.split(/\r?\n/).flatMap(line => filled(line)?.trim() ?? [])
  if (lines.length > 1) return lines
  return Array.from(text.matchAll(WORD), ([word]) =>
    word.replace(QUOTED, (_all, double?: string, single?: string) =>
      double === undefined ? (single ?? '') : double.replace(/\\(["\\])/g, '$1'),
    ),
  )
}

/** Reads arguments: a list, or one text. */
export const argumentsIn = (value: unknown): Read<string> => {
  if (Array.isArray(value)) {
    const values = textsOf(value)
    return { values, isPartial: values.length < value.length }
  }
  const text = scalarText(value)
  return { values: split(text ?? ''), isPartial: text === undefined && value !== undefined && value !== null }
}

type Pair = readonly [name: string, value: unknown]

/**
 * Reads a map of names and values, a list of `NAME=value` or objects, or a text with a pair in each line. A
 * settings window writes rows without a name; an empty one is unused.
 */
export const pairsIn = (value: unknown, separator: RegExp): Read<Pair> => {
  if (isObject(value)) {
    const pairs = Object.entries(value)
    const unnamed = pairs.filter(([name]) => name.trim() === '')
    return {
      values: pairs.filter(pair => !unnamed.includes(pair)),
      isPartial: unnamed.some(([, each]) => filled(each) !== undefined),
    }
  }
  const items: readonly unknown[] = Array.isArray(value)
    ? (value as unknown[])
    : typeof value === 'string'
      ? value.split(/\r?\n/).filter(line => filled(line) !== undefined)
      : []
  const values = items.flatMap(item => pairIn(item, separator))
  const isUnread = !Array.isArray(value) && typeof value !== 'string' && value !== undefined && value !== null
  return { values, isPartial: isUnread || values.length < items.length }
}

const pairIn = (item: unknown, separator: RegExp): readonly Pair[] => {
  if (isObject(item)) {
    const name = filled(item['name'] ?? item['key'])
    return name === undefined ? [] : [[name, item['value'] ?? '']]
  }
  const text = filled(item)
  const at = text === undefined ? -1 : text.search(separator)
  if (text === undefined || at < 1) return []
  return [[text.slice(0, at).trim(), text.slice(at).replace(separator, '')]]
}
