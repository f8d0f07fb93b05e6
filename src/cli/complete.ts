import { CLIENTS } from '../setup/clients/clients.js'
import { COMMANDS, type Command, commandAt, isGroup, nameOf } from './all-verbs.js'
import { print } from './shared/output/output.js'
import { EXIT, type Flags, type Verb } from './shared/verb.js'

/** A completion and its description. */
type Candidate = readonly [word: string, about: string]

/**
 * Prints completions of the last word for the shell scripts of `mcp-proxy completion`. The first word is
 * `mcp-proxy`, preceded by `fish` in fish. Starts no servers.
 */
export const complete = async (given: readonly string[]): Promise<number> => {
  const isFish = given[0] === 'fish'
  const words = given.slice(isFish ? 2 : 1)
  const last = words.at(-1) ?? ''
  const found = (await candidates(words.slice(0, -1), last)).filter(([word]) => word.startsWith(last))
  // Only the zsh script sets this variable.
  const isZsh = process.env['COMP_CWORD'] !== undefined
  const lines = found.map(([word, about]) => {
    if (isFish) return `${word}\t${about}`
    return isZsh ? `${word.replaceAll(':', '\\:')}:${about}` : word
  })
  if (lines.length > 0) print(lines.join('\n'))
  return EXIT.ok
}

const candidates = async (before: readonly string[], last: string): Promise<readonly Candidate[]> => {
  const words = before[0] === 'help' ? before.slice(1) : before
  const command = commandAt(words)
  if (command === undefined) return words.length === 0 ? COMMANDS.map(ofCommand) : []
  if (isGroup(command)) return command.verbs.map(ofCommand)
  const previous = words.at(-1) ?? ''
  const flag = Object.entries(command.flags).find(([name]) => previous === `--${name}`)
  if (flag !== undefined && flag[1].type !== 'boolean') return await values(flag[0], flag[1].choices, words)
  if (last.startsWith('-')) return [...Object.entries(command.flags).map(ofFlag), ['--help', 'Show help']]
  const [name, choices] = placeIn(command, words)
  return name === undefined ? [] : await values(name, choices, words)
}

const ofCommand = (command: Command): Candidate => [nameOf(command), command.describe]

const ofFlag = ([name, { describe }]: [string, Flags[string]]): Candidate => [`--${name}`, String(describe)]

type Choices = readonly (string | number | true | undefined)[]

/** Returns the next positional; a list positional repeats. */
const placeIn = ({ usage, flags, positionals = {} }: Verb, words: readonly string[]) => {
  const places = usage.match(/(?<=[<[])\w+(?:\.\.)?/g) ?? []
  const free = words.filter((word, at) => !word.startsWith('-') && !isValueOf(flags, words[at - 1] ?? ''))
  const gone = free.length - (words.length > 0 && isInGroup(words) ? 2 : 1)
  const place = places[Math.min(gone, places.length - 1)] ?? ''
  const name = gone < places.length || place.endsWith('..') ? place.replace('..', '') : undefined
  return [name, positionals[name ?? '']?.choices] as const
}

const isValueOf = (flags: Flags, word: string): boolean =>
  word.startsWith('--') && ![undefined, 'boolean'].includes(flags[word.slice(2)]?.type)

const isInGroup = (words: readonly string[]): boolean => {
  const first = commandAt(words.slice(0, 1))
  return first !== undefined && isGroup(first)
}

const CLIENT_PLACES = new Set(['clients', 'client', 'from', 'install'])
const SERVER_PLACES = new Set(['server', 'only'])

const values = async (
  name: string,
  choices: Choices | undefined,
  words: readonly string[],
): Promise<readonly Candidate[]> => {
  if (choices !== undefined) return choices.map(choice => [String(choice), ''])
  if (CLIENT_PLACES.has(name)) return CLIENTS.map(({ id, label }) => [id, label])
  if (name === 'view') return (await views(words)).map(each => [each, ''])
  if (SERVER_PLACES.has(name)) return (await servers(words)).map(each => [each, ''])
  if (name === 'tool') return (await tools(words)).map(each => [each, ''])
  return []
}

const load = async (words: readonly string[]) => {
  const [{ configTarget }, { loadConfig }] = await Promise.all([
    import('./shared/configuration.js'),
    import('../config/load.js'),
  ])
  const at = words.indexOf('--config')
  return await loadConfig(configTarget(at === -1 ? undefined : words[at + 1]), process.env)
}

const servers = async (words: readonly string[]): Promise<readonly string[]> => {
  const { config, disabled } = await load(words)
  return [...(config?.servers ?? []), ...disabled].map(({ name }) => name)
}

const views = async (words: readonly string[]): Promise<readonly string[]> =>
  (await load(words)).config?.views.map(({ name }) => name) ?? []

const tools = async (words: readonly string[]): Promise<readonly string[]> => {
  const [{ config }, { knownTools }, { stateDir }] = await Promise.all([
    load(words),
    import('../state/known-tools.js'),
    import('../state/state-key.js'),
  ])
  return knownTools(config?.servers ?? [], stateDir(process.env))
}
