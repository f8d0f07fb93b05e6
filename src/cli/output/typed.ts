import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const SHORT = 'mcp-proxy'

/** The verbs that texts name, and their groups; a test compares them with the command line. */
const VERBS =
  'init import add install uninstall remove enable disable connect serve daemon service stdio bridge auth ' +
  'status why logs ui list call doctor check cluster completion'

/** A command in a text, and not the name of the program in a sentence or a path. */
const ADVICE = new RegExp(`(?<![\\w/\\\\.@-])${SHORT} (?=(?:${VERBS.replaceAll(' ', '|')}|--\\w+)\\b)`, 'g')

let typed: string | undefined

/** What the user types to start this program: `mcp-proxy`, or Node with the path of the script. */
export const ownCommand = (): string => {
  typed ??= commandFor(process.argv[1])
  return typed
}

/** Whether that is the short command. */
export const isShortCommand = (): boolean => ownCommand() === SHORT

/**
 * A text for people in which every `mcp-proxy VERB` can be pasted into a shell: `mcp-proxy` where it is this
 * program, else Node with the path of the script.
 */
export const pasteable = (text: string): string => {
  if (!text.includes(`${SHORT} `)) return text
  const command = ownCommand()
  return command === SHORT ? text : text.replace(ADVICE, () => `${command} `)
}

/** From now on the user types the command of this script, such as one that was just installed. */
export const typeAs = (script: string): void => {
  typed = commandFor(script)
}

/**
 * What a user types to start a script of ours; `mcp-proxy` where another program runs us, such as a test.
 *
 * @internal
 */
export const commandFor = (
  script: string | undefined,
  { path = process.env['PATH'] ?? '', node = process.execPath } = {},
): string => {
  const own = script === undefined ? undefined : realOf(script)
  if (own === undefined || !/[/\\]bin[/\\]mcp-proxy\.js$/.test(own)) return SHORT
  // npx and npm put folders on PATH that no shell of the user has.
  const folders = path
    .split(delimiter)
    .filter(folder => !/[/\\](?:_npx|node_modules)[/\\]/.test(`${folder}/`))
  if (firstIn(folders, SHORT) === own) return SHORT
  const isOnPath = firstIn(folders, 'node') === realOf(node)
  return [isOnPath ? 'node' : quoted(node), quoted(own)].join(' ')
}

const firstIn = (folders: readonly string[], name: string): string | undefined => {
  for (const folder of folders) {
    const found = folder === '' ? undefined : realOf(join(folder, name))
    if (found !== undefined) return found
  }
  return undefined
}

const realOf = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** A word for a POSIX shell, or for `cmd`. */
const quoted = (word: string): string => {
  if (/^[\w/.:@%+,~-]+$/.test(word)) return word
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
