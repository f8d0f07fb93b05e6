import { randomUUID } from 'node:crypto'

/** A text in which placeholders replace long values that no change touches. */
export interface FoldedText {
  readonly text: string
  /**
   * Returns a function that restores the long values in the edited text; undefined if a placeholder is
   * missing.
   */
  readonly unfold: (edited: string) => (() => string) | undefined
}

/** Minimum characters of texts worth folding: `~/.claude.json` reaches tens of megabytes. */
export const LARGE = 256 * 1024

/** Characters; shorter values are cheap to parse again. */
export const SHORT = 256

/** A part of a text and its placeholder. */
export interface Fold {
  readonly start: number
  readonly end: number
  readonly holder: string
}

/**
 * Folds values of valid JSON that are not on the path of a change, so that the rest is cheap to parse for
 * each change. `json` is the text with blanks instead of comments and trailing commas. Undefined if a key
 * repeats.
 */
export const foldJson = (
  text: string,
  json: string,
  paths: readonly (readonly string[])[],
): FoldedText | undefined => {
  const start = afterSpace(json, 0)
  if (json[start] !== '{') return undefined
  const folds: Fold[] = []
  if (foldMembers({ text: json, folds, mark: randomUUID() }, start, paths) === undefined) return undefined
  return foldedText(
    text,
    folds.sort((one, other) => one.start - other.start),
  )
}

/** Replaces parts of a text, in order, by placeholders that occur nowhere else. */
export const foldedText = (text: string, folds: readonly Fold[]): FoldedText => {
  const unfold = (edited: string): (() => string) | undefined => {
    const places: number[] = []
    let from = 0
    for (const { holder } of folds) {
      const at = edited.indexOf(holder, from)
      if (at === -1) return undefined
      places.push(at)
      from = at + holder.length
    }
    return () => {
      const parts: string[] = []
      let end = 0
      for (const [n, { start: first, end: last, holder }] of folds.entries()) {
        const at = places[n] ?? 0
        parts.push(edited.slice(end, at), text.slice(first, last))
        end = at + holder.length
      }
      return [...parts, edited.slice(end)].join('')
    }
  }
  const parts = folds.map(
    ({ start: first, holder }, at) => text.slice(folds[at - 1]?.end ?? 0, first) + holder,
  )
  return { text: parts.join('') + text.slice(folds.at(-1)?.end ?? 0), unfold }
}

interface Folding {
  readonly text: string
  readonly folds: Fold[]
  /** Occurs nowhere in the file. */
  readonly mark: string
}

interface Member {
  readonly start: number
  /** Start of its value. */
  readonly value: number
  readonly end: number
  /** Steps of changes below it; empty if no change touches it. */
  readonly inner: readonly (readonly string[])[]
}

/** Folds members of the object at an offset. Returns its end, or undefined if a key repeats. */
const foldMembers = (
  folding: Folding,
  object: number,
  paths: readonly (readonly string[])[],
): number | undefined => {
  const { text } = folding
  const keys = new Set<string>()
  const members: Member[] = []
  let at = afterSpace(text, object + 1)
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at)
    const key = JSON.parse(text.slice(at, keyEnd)) as string
    if (keys.has(key)) return undefined
    keys.add(key)
    const value = afterSpace(text, afterSpace(text, keyEnd) + 1)
    const inner = paths.filter(([first]) => first === key).map(path => path.slice(1))
    const isOnWay = text[value] === '{' && inner.some(path => path.length > 0)
    const end = isOnWay ? foldMembers(folding, value, inner) : endOfValue(text, value)
    if (end === undefined) return undefined
    members.push({ start: at, value, end, inner })
    at = afterSpace(text, end)
    if (text[at] === ',') at = afterSpace(text, at + 1)
  }
  foldRuns(folding, members)
  return at + 1
}

/**
 * Folds runs of members that no change touches. The value of a single member is folded, and the last member
 * is alone, because new members copy its style.
 */
const foldRuns = (folding: Folding, members: readonly Member[]): void => {
  let first: Member | undefined
  for (const [n, member] of members.entries()) {
    if (member.inner.length > 0) continue
    first ??= member
    const next = n + 2 < members.length ? members[n + 1] : undefined
    if (next?.inner.length === 0) continue
    const { folds } = folding
    if (member.end - first.start > SHORT)
      folds.push(
        first === member
          ? foldOf(folding, member.value, member.end)
          : foldRun(folding, first.start, member.end),
      )
    first = undefined
  }
}

/** Returns a text of equal length with blanks instead of comments and trailing commas. */
export const withoutComments = (text: string): string =>
  blanked(blanked(text, /"|\/[/*]/g), /"|,(?=\s*[\]}])(?<=[^\s[{,]\s*,)/g)

/** Blanks the parts outside strings that begin where `signs` matches. */
const blanked = (text: string, signs: RegExp): string => {
  const parts: string[] = []
  let end = 0
  for (let found = signs.exec(text); found !== null; found = signs.exec(text)) {
    const { index: at, 0: sign } = found
    if (sign === '"') signs.lastIndex = endOfString(text, at)
    else {
      const close = sign === ',' ? at + 1 : endOfComment(text, at)
      parts.push(text.slice(end, at), text.slice(at, close).replace(/[^\r\n]/g, ' '))
      end = close
      signs.lastIndex = close
    }
  }
  return parts.join('') + text.slice(end)
}

const endOfComment = (text: string, start: number): number => {
  const isLine = text[start + 1] === '/'
  const end = text.indexOf(isLine ? '\n' : '*/', start + 2)
  return end === -1 ? text.length : isLine ? end : end + 2
}

/** Builds a member with the same first line break, ending in a line with the same indent. */
const foldRun = ({ text, folds, mark }: Folding, start: number, end: number): Fold => {
  const run = text.slice(start, end)
  const first = /\r?\n/.exec(run)?.[0] ?? ''
  const last = /\r?\n[ \t]*(?=[^\n]*$)/.exec(run)?.[0] ?? ''
  return { start, end, holder: `"${mark}-${folds.length}":${first}${last}0` }
}

/** Builds a placeholder of the value's type and line layout, because neighbours copy their style from it. */
const foldOf = ({ text, folds, mark }: Folding, start: number, end: number): Fold => {
  const name = JSON.stringify(`${mark}-${folds.length}`)
  const lineBreak = text.slice(start, end).includes('\n') ? (/\r?\n/.exec(text)?.[0] ?? '\n') : ''
  const open = text[start]
  if (open === '"') return { start, end, holder: name }
  const indent = /\n([ \t]+)\S/.exec(text.slice(start, end))?.[1] ?? ''
  const inner = `${lineBreak}${indent}${name}${open === '{' ? ':0' : ''}${lineBreak}`
  return { start, end, holder: open === '{' ? `{${inner}}` : `[${inner}]` }
}

const afterSpace = (text: string, offset: number): number => {
  let at = offset
  while (isSpace(text.charCodeAt(at))) at += 1
  return at
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

/** Returns the end of a quoted string, or of the text if it is unterminated. */
export const endOfString = (text: string, start: number): number => {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at)
    if (at === -1) return text.length
    let slashes = at
    while (text.charCodeAt(slashes - 1) === BACKSLASH) slashes -= 1
    if ((at - slashes) % 2 === 0) return at + 1
  }
}

const [BACKSLASH, QUOTE] = [92, 34]

/** Returns the end of a value, without recursion. */
const endOfValue = (text: string, start: number): number => {
  if (text[start] === '"') return endOfString(text, start)
  if (text[start] !== '{' && text[start] !== '[') return endOfWord(text, start)
  const signs = /["[\]{}]/g
  signs.lastIndex = start
  for (let depth = 0; signs.test(text); ) {
    const at = signs.lastIndex - 1
    const code = text.charCodeAt(at)
    if (code === QUOTE) signs.lastIndex = endOfString(text, at)
    else depth += OPENING.has(code) ? 1 : -1
    if (depth === 0) return at + 1
  }
  return text.length
}

const endOfWord = (text: string, start: number): number => {
  const ends = /[\s,}\]]/g
  ends.lastIndex = start
  return ends.test(text) ? ends.lastIndex - 1 : text.length
}

const OPENING: ReadonlySet<number> = new Set([123, 91])
