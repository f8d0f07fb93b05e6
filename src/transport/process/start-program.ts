import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import crossSpawn from 'cross-spawn'
import { Fault, systemCode } from '../../kernel/faults.js'

/** Result of cross-spawn, which finds the file and its interpreter on Windows. */
interface Parsed {
  readonly command: string
  readonly args: string[]
  readonly options: SpawnOptions
  /** Undefined if there is no such file. */
  readonly file: string | undefined
  /** For a script, `args` begins with the original arguments, and `command` is the interpreter. */
  readonly original: { readonly args: string[] }
}

declare module 'cross-spawn' {
  /** Undocumented and untyped, but execa uses it too. */
  const _parse: (command: string, args: readonly string[], options: SpawnOptions) => Parsed
}

/**
 * Starts a program like Node; on Windows also npm's shims, other batch files, and scripts.
 * Throws Node's errors, or a Fault for arguments that a batch file cannot receive.
 */
export const startProgram = (
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess => {
  const { file, original, ...parsed } = crossSpawn._parse(command, args, options)
  const isForCmd = parsed.options.windowsVerbatimArguments === true
  if (!isForCmd) return spawn(parsed.command, parsed.args, parsed.options)
  // Node reports a missing program, except for batch files.
  if (file === undefined) {
    if (/\.(?:bat|cmd)$/i.test(command)) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    return spawn(command, args, options)
  }
  if (original.args.length > args.length) return startProgram(parsed.command, original.args, options)
  return spawn(parsed.command, cmdArguments(file, args), parsed.options)
}

/**
 * Returns the arguments for `cmd.exe` to run a file, for use with `windowsVerbatimArguments`.
 * Throws a Fault for arguments that a batch file cannot receive.
 * @internal
 */
export const cmdArguments = (file: string, args: readonly string[]): string[] => {
  const line = [quoted(file), ...args.map(asArgument)].join(' ')
  // Disables autorun from the registry and !name! variables, and enables %cd:~,%.
  return ['/d', '/e:on', '/v:off', '/s', '/c', `"${line}"`]
}

/** Needs no quotes. A backslash at the end would escape a quote that a batch file adds. */
const PLAIN = /^[\w+\-./:@\\]+(?<!\\)$/

const asArgument = (text: string): string => {
  if (/[\r\n]/.test(text)) {
    throw new Fault(
      'unavailable',
      'could not be started: "args" must not hold line breaks, which end the command line of a batch file',
    )
  }
  return PLAIN.test(text) ? text : quoted(text)
}

/**
 * Quotes a text for all parsers of the line: `cmd`, `cmd` again for `%*` in a batch file (cross-spawn escapes
 * for only one of the two), and the program. Within quotes only `%` and `"` are special to `cmd`. A doubled
 * quote is one quote to a program (Microsoft C, "Parsing C command-line arguments"). %cd:~,% is an empty part
 * of a variable that always exists, so that the `%` before it cannot begin another (CVE-2024-24576).
 */
const quoted = (text: string): string =>
  `"${text
    .replace(/(\\*)("|$)/g, (_, slashes: string, quote: string) => slashes + slashes + quote + quote)
    .replaceAll('%', '%%cd:~,%')}"`

export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Describes the end of a child as the rest of a sentence: "exited with code 1". */
export const exitReason = ({ code, signal }: ChildExit): string =>
  signal === null ? `exited with code ${code ?? 'unknown'}` : `was killed by ${signal}`

const START_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'command not found (ENOENT): check "command"',
  EACCES: 'permission denied (EACCES): "command" must be an executable file',
  ENOEXEC: 'not a program (ENOEXEC): a script needs a first line such as "#!/bin/sh"',
  E2BIG: 'too many arguments or variables (E2BIG): check "args" and "env"',
  EMFILE: 'the proxy has too many open files (EMFILE)',
  ENFILE: 'the machine has too many open files (ENFILE)',
  EAGAIN: 'the machine has too many processes (EAGAIN)',
  ENOMEM: 'the machine is out of memory (ENOMEM)',
  ERR_INVALID_ARG_VALUE: '"command", "args" and "env" must not hold NUL characters',
}

/** Explains to the operator why a child could not be started; names the setting to change, but no values. */
export function startFault(error: unknown, cwd: string | undefined): Fault {
  if (error instanceof Fault) return error
  const code = systemCode(error) ?? 'unknown reason'
  // The operating system uses the same code for a missing program and a missing directory.
  const noDirectory = cwd !== undefined && (code === 'ENOENT' || code === 'ENOTDIR') && !existsSync(cwd)
  const why = noDirectory ? `working directory not found (${code}): check "cwd"` : START_FAILURES[code]
  const isMissing = code === 'ENOENT' && !noDirectory
  return new Fault('unavailable', `could not be started: ${why ?? code}`, {
    cause: error,
    ...(isMissing && { data: { doctor: 'D030' } }),
  })
}
