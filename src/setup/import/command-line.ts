import { statSync } from 'node:fs'
import { homeFolder } from '../../kernel/machine/who-am-i.js'

const isFile = (path: string): boolean => {
  try {
    return statSync(path.replace(/^~(?=[/\\])/, () => homeFolder())).isFile()
  } catch {
    return false
  }
}

const unquoted = (word: string): string => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2')

/** Returns whether the first two words form one path with a space, such as `/opt/my tools/server`. */
const isPath = (first: string, second: string): boolean =>
  /[/\\]/.test(first) && /^[^-./\\@$~"'][^"'=:]*[/\\]/.test(second)

/** Splits a command line into program and arguments; keeps an existing path with spaces as one word. */
export const commandWords = (line: string): readonly string[] => {
  const text = line.trim()
  const words = [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)]
  const texts = words.map(([word]) => unquoted(word))
  const [first = '', second = ''] = texts
  if (words.length < 2 || isFile(line)) return [line]
  if (!/^[^"']*[/\\]/.test(first) || /^["']/.test(text)) return texts
  // The longest existing path; the rest are arguments.
  const ends = words.map(({ 0: word, index }) => index + word.length)
  const count = ends.findLastIndex(end => isFile(text.slice(0, end))) + 1
  if (count > 0) return [text.slice(0, ends[count - 1]), ...texts.slice(count)]
  return isPath(first, second) ? [line] : texts
}

/**
 * Returns a command line from Windows for other systems, with notes for the user: `cmd /c npx …` and
 * `npx.cmd …` mean `npx …`.
 */
export const withoutWindows = (
  words: readonly string[],
): { readonly words: readonly string[]; readonly notes: readonly string[] } => {
  const [program = '', ...args] = words
  const at = args.findIndex(arg => !/^\/[abd-z](?::\w+)?$/i.test(arg))
  const rest = args.slice(at + 1)
  const isCmd = /^(?:.*[/\\])?cmd(?:\.exe)?$/i.test(program) && /^\/c$/i.test(args[at] ?? '')
  if (isCmd && rest.length > 0) {
    const inner = withoutWindows(rest.length === 1 ? commandWords(rest[0] ?? '') : rest)
    return { words: inner.words, notes: ['"cmd /c" is for Windows, and was left out', ...inner.notes] }
  }
  const [, runner] = /^([\w-]+)\.(?:cmd|bat|exe)$/i.exec(program) ?? []
  if (runner === undefined) return { words, notes: [] }
  return { words: [runner, ...args], notes: [`replaced ${program}, which is for Windows, with ${runner}`] }
}
