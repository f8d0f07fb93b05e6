import { randomUUID } from 'node:crypto'
import { EditError, type ParseText, TooLongError } from './change.js'
import { isContainer } from './containers.js'
import { type Fold, type FoldedText, foldedText, SHORT } from './fold.js'
import { lineNumber } from './layout.js'

/** A part of a file from one top-level name to the next. */
export interface Section {
  readonly name: string
  readonly start: number
  /** End of its values; only comments and blank lines follow. */
  readonly close: number
  /** Start of the next section, or end of the text. */
  readonly end: number
}

/** Characters from which a section counts as long, and of the others in all. */
const [LONG_SECTIONS, OTHERS_MAX] = [64 * 1024, 256 * 1024]
/** Characters that a parser of TOML or YAML reads in about a second. */
const PARSED_MAX = 1024 * 1024

/** Throws a TooLongError unless a parser can read the text in about a second. */
export const checkLength = (text: string): void => {
  if (text.length <= PARSED_MAX) return
  const length = (text.length / PARSED_MAX).toFixed(1)
  throw new TooLongError(`${length} MiB of this would have to be parsed, and the maximum is 1 MiB`)
}

/**
 * Returns a text's value without the long sections that hold no servers: parsers of TOML and YAML take
 * seconds for some megabytes. The syntax of these sections is not checked.
 */
export const partialValue = (parse: ParseText, text: string, sections: readonly Section[]): unknown => {
  const parts = shortParts(text, sections)
  try {
    return parse(parts.map(({ start, end }) => text.slice(start, end)).join('')).value ?? {}
  } catch (thrown) {
    if (!(thrown instanceof EditError) || thrown instanceof TooLongError) throw thrown
    // An alias may refer to another section.
    if (text.length <= PARSED_MAX) return parse(text).value
    throw new EditError(thrown.message, lineInWhole(text, parts, thrown.line))
  }
}

type Part = Pick<Section, 'start' | 'end'>

/** Returns the parts with servers, and the others unless they are long. */
const shortParts = (text: string, sections: readonly Section[]): readonly Part[] => {
  const lengths = new Map<string, number>()
  for (const { name, start, end } of sections) lengths.set(name, (lengths.get(name) ?? 0) + end - start)
  const others = [...lengths].filter(([name, length]) => !isContainer(name) && length < LONG_SECTIONS)
  const areShort = others.reduce((sum, [, length]) => sum + length, 0) < OTHERS_MAX
  const short = new Set(areShort ? others.map(([name]) => name) : [])
  const kept = sections.filter(({ name }) => isContainer(name) || short.has(name))
  return [{ start: 0, end: sections[0]?.start ?? text.length }, ...kept]
}

/** Returns the line of the whole text for one of the parts, whose last line ends the text; 0 for no line. */
const lineInWhole = (text: string, parts: readonly Part[], line: number): number => {
  if (line === 0) return 0
  let before = 0
  for (const { start, end } of parts) {
    const lines = text.slice(start, end).split('\n').length - 1
    if (line <= before + lines) return lineNumber(text, start) + line - before - 1
    before += lines
  }
  return lineNumber(text, parts.at(-1)?.end ?? 0)
}

/**
 * Folds runs of sections that no change touches, except the comments below a run. `holder` makes a section of
 * one line with a unique name instead of a run, given its last section. `paths` lead to the changes.
 */
export const foldSections = <S extends Section>(
  text: string,
  sections: readonly S[],
  holder: (name: string, last: S) => string,
  paths: readonly (readonly string[])[],
): FoldedText => {
  const names = new Set(paths.map(([name]) => name))
  const mark = randomUUID()
  const folds: Fold[] = []
  let start: number | undefined
  for (const [n, section] of sections.entries()) {
    if (names.has(section.name)) continue
    start ??= section.start
    const next = sections[n + 1]
    if (next !== undefined && !names.has(next.name)) continue
    if (section.close - start > SHORT)
      folds.push({ start, end: section.close, holder: holder(`${mark}-${folds.length}`, section) })
    start = undefined
  }
  return foldedText(text, folds)
}
