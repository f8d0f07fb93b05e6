import type { ArgumentsCamelCase, Argv, Options } from 'yargs'
import type { LogLevel } from '../config/types.js'

/** One word after `mcp-proxy`, and what it does; its file imports at the top only what the help needs. */
export interface Verb<T> {
  /** As yargs reads it, such as `call <tool> [pairs..]`. */
  readonly usage: string
  readonly describe: string
  /** All that begins with two dashes, by name. */
  readonly flags: Readonly<Record<string, Options>>
  readonly options: (cli: Argv) => Argv<T>
  /** Whether it runs until it is told to end: then whoever does not read what it says must not keep it. */
  readonly isService?: boolean
  /** Does it; `command` is what stood after `--`. Resolves with the exit code; rejects with a CliError or a Fault. */
  run(args: ArgumentsCamelCase<T>, command: readonly string[] | undefined): Promise<number>
}

/** A verb with its arguments. */
export interface Chosen {
  readonly isService: boolean
  /** As `Verb.run`. */
  readonly run: () => Promise<number>
}

/** Ends a verb with a message for the person who called it. */
export class CliError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'CliError'
    this.code = code
  }
}

/** An option with a text that may be given once. */
export const textOption = (describe: string) =>
  ({ type: 'string', requiresArg: true, describe }) as const satisfies Options

/** An option with a text that may be given many times. */
export const textsOption = (describe: string) =>
  ({ type: 'string', array: true, requiresArg: true, describe }) as const satisfies Options

/** `--config`. */
export const configOption = textOption(
  'The configuration file; without it, the one that MCP_PROXY_CONFIG names',
)

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies readonly LogLevel[]

/** `--log-level`. */
export const logLevelOption = {
  choices: LEVELS,
  requiresArg: true,
  describe: 'How much is logged to stderr',
} as const satisfies Options

/** What our exit codes mean; part of the interface of every verb, so they never change. */
export const EXIT = {
  ok: 0,
  negative: 1,
  usage: 2,
  configuration: 3,
  failure: 4,
} as const

/** The same for people, as the help shows it; codes of signals are those of shells (128 and the signal's number). */
export const EXIT_TABLE = `Exit codes:
  0    done; serve, stdio and bridge also after SIGINT or SIGTERM
  1    the tool answered with an error (call), errors were found (check), or mcp-proxy itself crashed
  2    the command line is wrong
  3    the configuration cannot be used
  4    no server could be reached, the call failed, or the port or socket could not be had
  129  SIGHUP, 130 SIGINT, 143 SIGTERM: list and call, and any verb at the second signal`
