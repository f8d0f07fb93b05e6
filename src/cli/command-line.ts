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

const VERBS: readonly Verb[] = [serve, stdio, bridge, check, list, call, status]
const FLAGS = new Map(VERBS.flatMap(({ flags }) => Object.entries(flags)))
const HELP_WIDTH = 110

/**
 * Parses any command line, and prints help where it is asked for; `command` is what followed `--`. Resolves
 * with the chosen verb unless there is nothing left to do; rejects with a CliError that says what is wrong.
 */
export const readCommandLine = async (
  words: readonly string[],
  command: readonly string[] | undefined,
): Promise<Chosen | undefined> => {
  let chosen: Chosen | undefined
  const cli = createCli(words)
  for (const verb of VERBS) {
    cli.command(
      verb.usage,
      verb.describe,
      own => describe(own, verb),
      args => {
        if (command !== undefined && verb.usage !== bridge.usage) {
          throw new CliError(EXIT.usage, 'only bridge takes a command after --')
        }
        chosen = { isService: verb.isService === true, run: () => verb.run(args, command) }
      },
    )
  }
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
      throw new CliError(EXIT.usage, usageMessage(message ?? error?.message ?? 'the command line is wrong'))
    })

const describe = (cli: Argv, { synopsis, flags, positionals = {}, examples }: Verb): Argv => {
  if (synopsis !== undefined) cli.usage(synopsis)
  for (const [name, options] of Object.entries(positionals)) cli.positional(name, options)
  cli.options(flags)
  for (const [command, description] of examples) cli.example(command, description)
  return cli
}

/** Turns a message of yargs into one that helps. */
const usageMessage = (message: string): string => {
  if (message.startsWith('Not enough non-option arguments')) return 'call needs the name of a tool'
  const unknown = /^Unknown argument: ([a-z-]+)$/i.exec(message)?.[1]
  const meant = unknown === undefined ? undefined : suggest(unknown, [...FLAGS.keys()])
  return meant === undefined ? message : `${message}. Did you mean --${meant}?`
}

/** yargs makes an array of any flag that is given twice. */
const checkRepeated = (args: Readonly<Record<string, unknown>>): true => {
  for (const [flag, { array }] of FLAGS) {
    if (array === true || !Array.isArray(args[flag])) continue
    throw new CliError(EXIT.usage, `--${flag} may be given once`)
  }
  return true
}
