import yargs, { type Argv } from 'yargs'
import { IDENTITY } from '../app/identity.js'
import { suggest } from '../config/schema/suggest.js'
import { type Chosen, CliError, EXIT, EXIT_TABLE, type Verb } from './verb.js'
import { bridge } from './verbs/bridge.js'
import { call } from './verbs/call.js'
import { check } from './verbs/check.js'
import { list } from './verbs/list.js'
import { serve } from './verbs/serve.js'
import { status } from './verbs/status.js'
import { stdio } from './verbs/stdio.js'

/**
 * Reads any command line, and answers those who ask for help; `command` is what stood after `--`. Resolves with what to do, if there is
 * anything left to do; rejects with a CliError that says what is wrong.
 */
export const readCommandLine = async (
  words: readonly string[],
  command: readonly string[] | undefined,
): Promise<Chosen | undefined> => {
  let chosen: Chosen | undefined
  const choose = (next: Chosen): void => {
    chosen = next
  }
  const cli = createCli(words)
  addVerb(cli, serve, command, choose)
  addVerb(cli, stdio, command, choose)
  addVerb(cli, bridge, command, choose)
  addVerb(cli, check, command, choose)
  addVerb(cli, list, command, choose)
  addVerb(cli, call, command, choose)
  addVerb(cli, status, command, choose)
  await cli.parseAsync()
  return chosen
}

const createCli = (words: readonly string[]): Argv =>
  yargs([...words])
    .scriptName('mcp-proxy')
    .locale('en')
    .usage('Many MCP servers behind one address.\n\n  $0 <command> [options]')
    .parserConfiguration({
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'dot-notation': false,
      'greedy-arrays': false,
      'boolean-negation': false,
    })
    .exitProcess(false)
    .strict()
    .recommendCommands()
    .demandCommand(1, 1, 'name a command: serve, stdio, bridge, check, list, call or status')
    .check(checkRepeated)
    .help()
    .alias('help', 'h')
    .version(IDENTITY.version)
    .epilogue(EXIT_TABLE)
    .wrap(process.stdout.isTTY ? Math.min(HELP_WIDTH, process.stdout.columns) : HELP_WIDTH)
    .showHelpOnFail(false)
    .fail((message: string | null, error: Error | undefined) => {
      throw new CliError(EXIT.usage, wordsOf(message ?? error?.message ?? 'the command line is wrong'))
    })

/** What yargs says about a command line, in words that help. */
const wordsOf = (message: string): string => {
  if (message.startsWith('Not enough non-option arguments')) return 'call needs the name of a tool'
  const unknown = /^Unknown argument: ([a-z-]+)$/i.exec(message)?.[1]
  const meant = unknown === undefined ? undefined : suggest(unknown, FLAGS)
  return meant === undefined ? message : `${message}. Did you mean --${meant}?`
}

const SINGLE = [
  'config',
  'host',
  'port',
  'socket',
  'allow-remote',
  'from',
  'to',
  'args',
  'json',
  'log-level',
  'url',
]
const FLAGS = [...SINGLE, 'allowed-host', 'header', 'env']

/** The parser makes a list of what is given twice; only some flags are lists. */
const checkRepeated = (args: Readonly<Record<string, unknown>>): true => {
  const repeated = SINGLE.find(flag => Array.isArray(args[flag]))
  if (repeated !== undefined) throw new CliError(EXIT.usage, `--${repeated} may be given once`)
  return true
}

const HELP_WIDTH = 110

const addVerb = <T>(
  cli: Argv,
  verb: Verb<T>,
  command: readonly string[] | undefined,
  choose: (chosen: Chosen) => void,
): void => {
  cli.command(verb.usage, verb.describe, verb.options, args => {
    if (command !== undefined && verb.usage.split(' ')[0] !== 'bridge') {
      throw new CliError(EXIT.usage, 'only bridge takes a command after --')
    }
    choose({ isService: verb.isService === true, run: () => verb.run(args, command) })
  })
}
