import { randomUUID } from 'node:crypto'
import { EditError, type ParseText } from './change.js'
import { isContainer } from './containers.js'
import { type Fold, type FoldedText, foldedText, SHORT } from './fold.js'

/** A part of a file from one top-level name to the next. */
export interface Section {
  readonly name: string
  readonly start: number
  /** End of its values; only comments and blank lines follow. */
  readonly close: number
  /** Start of the next section, or end of the text. */
  readonly end: number
}

/** Characters. */
const LONG_SECTIONS = 64 * 1024

/**
 * Returns a text's value without the long sections that hold no servers: parsers of TOML and YAML take
 * seconds for some megabytes. The syntax of these sections is not checked.
 */
export const partialValue = (parse: ParseText, text: string, sections: readonly Section[]): unknown => {
  try {
    return parse(withoutLongSections(text, sections)).value ?? {}
  } catch (thrown) {
    if (!(thrown instanceof EditError)) throw thrown
    // An alias may refer to another section; otherwise, this finds the right line.
    return parse(text).value
  }
}

const withoutLongSections = (text: string, sections: readonly Section[]): string => {
  const lengths = new Map<string, number>()
  for (const { name, start, end } of sections) lengths.set(name, (lengths.get(name) ?? 0) + end - start)
  const isKept = ({ name }: Section): boolean => (lengths.get(name) ?? 0) < LONG_SECTIONS || isContainer(name)
  const kept = sections.filter(isKept).map(({ start, end }) => text.slice(start, end))
  return text.slice(0, sections[0]?.start) + kept.join('')
}

/**
 * Folds runs of sections that no change touches, except the comments below a run. `holder` makes a section of
 * one line with a unique name. `paths` lead to the changes.
 */
export const foldSections = (
  text: string,
  sections: readonly Section[],
  holder: (name: string) => string,
  paths: readonly (readonly string[])[],
): FoldedText => {
  const names = paths.map(([name]) => name)
  const mark = randomUUID()
  const folds: Fold[] = []
  let start: number | undefined
  for (const [n, section] of sections.entries()) {
    if (names.includes(section.name)) continue
    start ??= section.start
    const next = sections[n + 1]
    if (next !== undefined && !names.includes(next.name)) continue
    if (section.close - start > SHORT)
      folds.push({ start, end: section.close, holder: holder(`${mark}-${folds.length}`) })
    start = undefined
  }
  return foldedText(text, folds)
}
