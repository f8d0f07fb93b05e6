import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CAUSES, type CauseCode, rowOf } from '../../src/diagnostics/causes.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Returns the repository's files below these folders. */
export const tracked = (...folders: string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '-z', ...folders], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean)

export const textOf = (file: string): string => readFileSync(`${root}/${file}`, 'utf8')

/** Returns the commands of this program in a text; placeholders are words in capitals or braces. */
const commandsIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?<![\w/.@-])mcp-proxy ((?:[a-z]+)(?: [^\s"'`|,;()<]+)*)/g)].map(
    ([, words = '']) => words,
  )

/** Returns the commands that the table of problems suggests. */
export const suggestedByProblems = (): ReadonlySet<string> =>
  new Set(
    Object.keys(CAUSES).flatMap(code => {
      const { fix = '', command = '' } = rowOf(code as CauseCode)
      return commandsIn(`${fix}\n${command}`.replaceAll(/\{'(\w+)'\}/g, '{$1}'))
    }),
  )

const SUGGESTED =
  /(?:fix|undo|Next|first|again|with:|to add \w+|after an update)[^\n]{0,40}?`?(?<!\w)mcp-proxy [a-z]+[^\n`'"]*/g
const ON_PAGE = /(?:text="|command: ')mcp-proxy [^\n]*/g

/** Returns the commands that verbs and the page suggest. */
export const suggestedByPrograms = (): ReadonlySet<string> => {
  const files = tracked('src/cli', 'src/doctor', 'src/ui', 'src/setup').filter(file => /\.tsx?$/.test(file))
  const texts = files.flatMap(file => [
    ...(textOf(file).match(SUGGESTED) ?? []),
    ...(file.startsWith('src/ui') ? (textOf(file).match(ON_PAGE) ?? []) : []),
  ])
  return new Set(
    texts
      .flatMap(commandsIn)
      .map(command => command.replace(/\$\{[^}]*\}?.*$/, '').trim())
      .filter(command => command !== ''),
  )
}
