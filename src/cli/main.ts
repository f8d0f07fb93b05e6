import { inspect } from 'node:util'
import yargs, { type Argv } from 'yargs'
import { IDENTITY } from '../app/identity.js'
import { suggest } from '../config/suggest.js'
import { Fault } from '../kernel/faults.js'
import { bridge } from './bridge.js'
import { call } from './call.js'
import { check } from './check.js'
import { EXIT, EXIT_TABLE } from './exit-codes.js'
import { list } from './list.js'
import { flush, say, tolerateClosedPipes } from './output.js'
import { serve } from './serve.js'
import { status } from './status.js'
import { stdio } from './stdio.js'
import { CliError, type Verb } from './verb.js'

/** Runs a command line, without node and script, to its end. Resolves with the exit code; never rejects. */
export const main = async (argv: readonly string[]): Promise<number> => {
  tolerateClosedPipes()
  const done = await run(argv).catch((thrown: unknown) => ({ code: explain(thrown, argv), isService: false }))
  await flush(done.isService ? FLUSH_MS : undefined)
  return done.code
}

/** How long a service waits at its end for those who read what it wrote last. */
const FLUSH_MS = 500

/** What came of a verb. */
interface Done {
  readonly code: number
  readonly isService: boolean
}

type Chosen = () => Promise<Done>

const run = async (argv: readonly string[]): Promise<Done> => {
  // What follows -- is somebody else's command line: no parser of ours ever sees it.
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  const command = end === -1 ? undefined : argv.slice(end + 1)
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
  return chosen === undefined ? { code: EXIT.ok, isService: false } : await chosen()
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
    choose(async () => ({ code: await verb.run(args, command), isService: verb.isService === true }))
  })
}

const explain = (thrown: unknown, argv: readonly string[]): number => {
  if (thrown instanceof CliError) {
    say(`mcp-proxy: ${thrown.message}`)
    if (thrown.code === EXIT.usage) say(`Try: mcp-proxy ${helpFor(argv)}--help`)
    return thrown.code
  }
  const isForeseen = thrown instanceof Fault && thrown.code !== 'internal'
  say(`mcp-proxy: ${isForeseen ? thrown.message : inspect(thrown)}`)
  return thrown instanceof Fault ? EXIT.failure : EXIT.negative
}

const VERBS = ['serve', 'stdio', 'bridge', 'check', 'list', 'call', 'status']

const helpFor = ([word]: readonly string[]): string =>
  word !== undefined && VERBS.includes(word) ? `${word} ` : ''
