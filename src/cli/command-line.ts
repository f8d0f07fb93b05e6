import yargs, { type Argv } from 'yargs'
import { suggest } from '../config/schema/suggest.js'
import { IDENTITY } from '../kernel/machine/identity.js'
import { isShortCommand, ownCommand, pasteable } from '../kernel/machine/own-command.js'
import { COMMANDS, type Command, commandAt, isGroup, nameOf, SECTIONS } from './all-verbs.js'
import { GRAMMAR } from './parse-simple.js'
import { printText } from './shared/output/output.js'
import { columnsOf } from './shared/output/terminal.js'
import {
  type Chosen,
  CliError,
  EXIT,
  EXIT_TABLE,
  type Flags,
  type Verb,
  type VerbArguments,
} from './shared/verb.js'

const HELP_WIDTH = 110
const HELP = new Set(['--help', '-h'])

/**
 * Parses a command line and prints help on request; `command` holds the words after `--`. Resolves with the
 * chosen verb, or undefined when only help was printed. Rejects with a CliError for invalid arguments.
 */
export const readCommandLine = async (
  words: readonly string[],
  command: readonly string[] | undefined,
): Promise<Chosen | undefined> => {
  if (words.every(word => HELP.has(word)) && words.length > 0) {
    printText(allCommands())
    return undefined
  }
  if (words.some(word => HELP.has(word))) checkCommand(words.filter(word => !HELP.has(word)))
  let chosen: Chosen | undefined
  const cli = createCli(words).fail((message: string | null, error: Error | undefined) => {
    if (error instanceof CliError) throw error
    throw usageError(message ?? error?.message ?? 'invalid command line', words)
  })
  const add = (to: Argv, verb: Verb, usage: string): void => {
    const build = (own: Argv): Argv => describe(own, verb, usage)
    const choose = (args: VerbArguments<Flags>): void => {
      if (command !== undefined && verb.takesCommand !== true) {
        throw new CliError(EXIT.usage, 'only add and bridge take a command after --')
      }
      chosen = { isService: verb.isService === true, run: () => verb.run(args, command) }
    }
    // We write the top-level help ourselves; yargs builds a group's help from these commands.
    if (usage === verb.usage) to.command(verb.usage, false, build, choose)
    else to.command(verb.usage, verb.describe, build, choose)
  }
  for (const each of COMMANDS) {
    if (!isGroup(each)) add(cli, each, each.usage)
    else {
      cli.command(each.usage, false, own => {
        for (const verb of each.verbs) add(own, verb, `${each.usage} ${verb.usage}`)
        return own.usage(`$0 ${each.usage} <command>\n\n${each.describe}`).demandCommand(1)
      })
    }
  }
  await cli.parseAsync()
  return chosen
}

const createCli = (words: readonly string[]): Argv =>
  yargs([...words])
    .scriptName(ownCommand())
    .locale('en')
    .usage('$0 <command> [options]')
    .parserConfiguration(GRAMMAR)
    .exitProcess(false)
    .strict()
    .demandCommand(1)
    .check(args => checkRepeated(args, words))
    .help()
    .alias('help', 'h')
    .version(IDENTITY.version)
    .wrap(process.stdout.isTTY ? Math.min(HELP_WIDTH, columnsOf(process.stdout)) : HELP_WIDTH)
    .showHelpOnFail(false)

const allCommands = (): string => {
  const width = Math.max(...COMMANDS.map(each => nameOf(each).length)) + 2
  // Omits a long command, which would hide the verb names; the first lines show it.
  const program = isShortCommand() ? `${ownCommand()} ` : ''
  const line = (each: Command): string => `  ${program}${nameOf(each).padEnd(width)}${each.describe}`
  const sections = SECTIONS.map(([title, commands]) => [`${title}:`, ...commands.map(line)].join('\n'))
  return ['Many MCP servers behind one address.', ways(), ...sections, EXIT_TABLE].join('\n\n')
}

const ways = (): string => `  ${ownCommand()}                     Show status, or get started
  ${ownCommand()} <command> --help    What a command does, with examples and options
  ${ownCommand()} --version`

const describe = (cli: Argv, verb: Verb, usage: string): Argv => {
  const { synopsis, describe: sentence, flags, positionals = {}, examples } = verb
  cli.usage(synopsis ?? `$0 ${usage}\n\n${sentence}`)
  for (const [name, options] of Object.entries(positionals)) cli.positional(name, options)
  cli.options(flags)
  return cli.epilog(examplesText(examples))
}

/** Maximum width of an example that shares its line with its description. */
const EXAMPLE_WIDTH = 55

/** Formats examples without yargs, which breaks commands across lines so that they cannot be copied. */
const examplesText = (written: Verb['examples']): string => {
  const examples = written.map(([command, description]) => [pasteable(command), description] as const)
  const short = examples.map(([{ length }]) => length).filter(length => length <= EXAMPLE_WIDTH)
  const width = Math.max(0, ...short) + 2
  const lines = examples.map(([command, description]) =>
    command.length > EXAMPLE_WIDTH
      ? `  ${command}\n  ${' '.repeat(width)}${description}`
      : `  ${command.padEnd(width)}${description}`,
  )
  return ['Examples:', ...lines].join('\n')
}

/** Turns a yargs message into a CliError. */
const usageError = (message: string, words: readonly string[]): CliError => {
  const command = commandAt(words)
  const isShort = message.startsWith('Not enough non-option arguments')
  if (isShort && (command === undefined || isGroup(command))) return noCommand(words, command)
  const choice = /Argument: (\S+), Given: "(.*?)", Choices: (.*)/.exec(message)
  if (choice !== null) return wrongChoice(choice, words)
  const unknown = /^Unknown (?:arguments?|commands?): ([^\s,]+)/.exec(message)?.[1]
  if (unknown !== undefined) return unknownWord(unknown, words, command)
  if (command !== undefined && !isGroup(command) && isShort && command.needs !== undefined) {
    const why = `usage: mcp-proxy ${command.usage}`
    return new CliError(EXIT.usage, `${nameOf(command)} needs ${command.needs}`, { why })
  }
  return new CliError(EXIT.usage, message.replaceAll('\n', ' '))
}

const noCommand = (words: readonly string[], command: Command | undefined): CliError => {
  const flag = words.find(word => word.startsWith('-'))?.replace(/^-+/, '')
  const meant = flag === undefined ? undefined : suggest(flag, ['help', 'version'])
  const what =
    meant === undefined ? 'no command was given' : `unknown option: --${flag}; did you mean --${meant}?`
  return new CliError(EXIT.usage, what, { why: commandsOf(command) })
}

const wrongChoice = (
  [, name = '', given = '', list = '']: RegExpExecArray,
  words: readonly string[],
): CliError => {
  const choices = list.replaceAll('"', '').split(', ')
  const place = words.some(word => word.startsWith(`--${name}`)) ? `--${name}` : name
  const what = `"${given}" is not a valid value of ${place}${hint(suggest(given, choices))}`
  return new CliError(EXIT.usage, what, { why: `it is one of ${choices.join(', ')}` })
}

const namesIn = (command: Command | undefined): readonly string[] =>
  command !== undefined && isGroup(command)
    ? command.verbs.map(verb => `${nameOf(command)} ${nameOf(verb)}`)
    : COMMANDS.map(nameOf)

const commandsOf = (command: Command | undefined): string => `commands are ${namesIn(command).join(', ')}`

/** Throws a CliError for help on an unknown command; yargs would print the top-level help. */
const checkCommand = (words: readonly string[]): void => {
  const [first = '', second = ''] = words
  const command = commandAt([first])
  const isWord = (word: string): boolean => word !== '' && !word.startsWith('-')
  if (command === undefined) {
    if (isWord(first)) throw unknownWord(first, words, undefined)
  } else if (isGroup(command) && isWord(second) && !command.verbs.some(verb => nameOf(verb) === second))
    throw unknownWord(second, words, command)
}

const unknownWord = (word: string, words: readonly string[], command: Command | undefined): CliError => {
  const isFlag = !words.includes(word)
  const shown = isFlag ? `${word.length === 1 ? '-' : '--'}${word}` : `"${word}"`
  if (isFlag && command !== undefined && !isGroup(command)) {
    const shownFlags = Object.entries(command.flags).filter(([, { hidden }]) => hidden !== true)
    const own = [...shownFlags.map(([name]) => name), 'help']
    const meant = suggest(word, own)
    const why = `${nameOf(command)} has ${own.map(name => `--${name}`).join(', ')}`
    return new CliError(EXIT.usage, `unknown option: ${shown}${hint(meant && `--${meant}`)}`, { why })
  }
  if (command !== undefined && !isGroup(command)) {
    const why = `usage: mcp-proxy ${command.usage} [options]`
    return new CliError(EXIT.usage, `unexpected argument: ${word}`, { why })
  }
  const lead = command === undefined ? '' : `${nameOf(command)} `
  const meant = suggest(lead + word, namesIn(command))
  const what = isFlag ? `unknown option: ${shown}` : `unknown command: ${word}`
  const fix = meant === undefined ? undefined : `mcp-proxy ${meant}`
  return new CliError(EXIT.usage, what + hint(meant), { why: commandsOf(command), fix })
}

const hint = (meant: string | undefined): string => (meant === undefined ? '' : `; did you mean ${meant}?`)

/** Rejects repeated flags, which yargs turns into arrays. */
const checkRepeated = (args: Readonly<Record<string, unknown>>, words: readonly string[]): true => {
  const command = commandAt(words)
  const flags = command === undefined || isGroup(command) ? {} : command.flags
  for (const [flag, { array }] of Object.entries(flags)) {
    if (array === true || !Array.isArray(args[flag])) continue
    throw new CliError(EXIT.usage, `--${flag} may be given once`)
  }
  return true
}
