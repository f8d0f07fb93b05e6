import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const SHORT = 'mcp-proxy'

/** Verbs and groups that texts name; a test compares them with the command line. */
const VERBS =
  'init import add install uninstall remove enable disable connect serve daemon service stdio bridge auth ' +
  'status why logs ui list tools call doctor check rules approvals approve deny lock audit cluster completion'

/** Matches a command in a text, but not the program name in a sentence or path. */
const ADVICE = new RegExp(`(?<![\\w/\\\\.@-])${SHORT} (?=(?:${VERBS.replaceAll(' ', '|')}|--\\w+)\\b)`, 'g')

let typed: string | undefined

/**
 * Returns the command that the user types to start this program: `mcp-proxy`, or Node with the script path.
 */
export const ownCommand = (): string => {
  typed ??= commandFor(process.argv[1])
  return typed
}

/** Returns whether the user can type `mcp-proxy`. */
export const isShortCommand = (): boolean => ownCommand() === SHORT

/**
 * Makes every `mcp-proxy VERB` in a text pasteable: replaces `mcp-proxy` with Node and the script path if the
 * shell would not find this program.
 */
export const pasteable = (text: string): string => {
  if (!text.includes(`${SHORT} `)) return text
  const command = ownCommand()
  return command === SHORT ? text : text.replace(ADVICE, () => `${command} `)
}

/** Sets the script whose command texts show from now on, such as a new installation. */
export const typeAs = (script: string): void => {
  typed = commandFor(script)
}

/**
 * Returns the command that starts one of our scripts; `mcp-proxy` if another program, such as a test, runs
 * us. @internal
 */
export const commandFor = (
  script: string | undefined,
  { path = process.env['PATH'] ?? '', node = process.execPath } = {},
): string => {
  const own = script === undefined ? undefined : realOf(script)
  if (own === undefined || !/[/\\]bin[/\\]mcp-proxy\.js$/.test(own)) return SHORT
  // npx and npm add folders to PATH that the user's shell does not have.
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

/** Quotes a word for a POSIX shell or `cmd`. */
const quoted = (word: string): string => {
  if (/^[\w/.:@%+,~-]+$/.test(word)) return word
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
