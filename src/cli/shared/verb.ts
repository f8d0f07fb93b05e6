import type { ArgumentsCamelCase, InferredOptionTypes, Options, PositionalOptions } from 'yargs'
import type { LogLevel } from '../../config/types.js'
import { type Cause, type Explained, explain } from '../../diagnostics/explain.js'

export type Flags = Readonly<Record<string, Options>>

type Positionals = Readonly<Record<string, PositionalOptions>>

/** Arguments of `run`: the values of all flags and positionals. */
export type VerbArguments<F extends Flags, P extends Positionals = Positionals> = ArgumentsCamelCase<
  InferredOptionTypes<string extends keyof P ? F : F & P>
>

/** A verb of `mcp-proxy`. Its file imports at the top only the modules that the help needs. */
export interface Verb<F extends Flags = Flags, P extends Positionals = Positionals> {
  /** Usage in yargs syntax, such as `call <tool> [pairs..]`. */
  readonly usage: string
  readonly describe: string
  /** Missing part of a command line with only the verb, such as `the name of a tool`. */
  readonly needs?: string
  /** Replaces the usage and options at the start of the help. */
  readonly synopsis?: string
  readonly flags: F
  readonly positionals?: P
  readonly examples: readonly (readonly [command: string, description: string])[]
  /** Allows a command after `--`. */
  readonly takesCommand?: boolean
  /** True if it runs until a signal; a stalled reader of its output must not block it. */
  readonly isService?: boolean
  /**
   * `command` holds the words after `--`. Resolves with the exit code; rejects with a CliError or a Fault.
   */
  run(args: VerbArguments<F, P>, command: readonly string[] | undefined): Promise<number>
}

/** A group of verbs, such as `auth`. */
export interface VerbGroup {
  readonly usage: string
  readonly describe: string
  readonly verbs: readonly Verb[]
}

/** Types the arguments of `run` by the flags and positionals. */
export const defineVerb = <const F extends Flags, const P extends Positionals = Positionals>(
  verb: Verb<F, P>,
): Verb<F, P> => verb

export interface Chosen {
  readonly isService: boolean
  /** See `Verb.run`. */
  readonly run: () => Promise<number>
}

/** The second and third line of an error. */
interface ErrorLines {
  readonly why?: string | undefined
  /** A command to paste. */
  readonly fix?: string | undefined
  /** The problem of the listen address, for `check`. */
  readonly address?: Explained | undefined
}

/** Ends a verb with an error, its reason and its fix, as far as known. */
export class CliError extends Error {
  readonly code: number
  readonly why: string | undefined
  readonly fix: string | undefined
  readonly address: Explained | undefined

  constructor(code: number, what: string, { why, fix, address }: ErrorLines = {}) {
    super(what)
    this.name = 'CliError'
    this.code = code
    this.why = why
    this.fix = fix
    this.address = address
  }
}

/** Returns a CliError for a cause. */
export const causeError = (code: number, found: Cause): CliError => {
  const { id, message, why, fix } = explain(found)
  return new CliError(code, id === undefined ? message : `${id}: ${message}`, {
    why,
    fix: fix === '' ? undefined : fix,
  })
}

export const textOption = (describe: string) =>
  ({ type: 'string', requiresArg: true, describe }) as const satisfies Options

/** Defines a repeatable text option. */
export const textsOption = (describe: string) =>
  ({ type: 'string', array: true, requiresArg: true, describe }) as const satisfies Options

export const configOption = textOption(
  'The configuration; else $MCP_PROXY_CONFIG, else ~/.config/mcp-proxy/mcp.json',
)

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies readonly LogLevel[]

export const logLevelOption = {
  choices: LEVELS,
  requiresArg: true,
  describe: 'The level of the log on stderr',
} as const satisfies Options

export const jsonOption = {
  type: 'boolean',
  describe: 'One JSON document',
} as const satisfies Options

/** Exit codes. They are part of every verb's interface, so they never change. */
export const EXIT = {
  ok: 0,
  negative: 1,
  usage: 2,
  configuration: 3,
  failure: 4,
} as const

/** Exit codes for the help; signals use the shell's codes (128 plus the signal number). */
export const EXIT_TABLE = `Exit codes:
  0    success; for serve, stdio and bridge also SIGINT and SIGTERM
  1    the tool answered with an error (call), check found errors, or mcp-proxy crashed
  2    the command line is invalid
  3    the configuration cannot be used
  4    no server could be reached, the call failed, or the port or socket is not available
  129  SIGHUP, 130 SIGINT, 143 SIGTERM: list and call, and any verb at the second signal`

/** Shown instead of an empty table. */
export const NO_SERVERS = 'no server is enabled; fix: mcp-proxy add NAME -- COMMAND'
