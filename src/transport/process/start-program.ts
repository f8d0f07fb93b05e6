import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import crossSpawn from 'cross-spawn'
import { Fault } from '../../kernel/faults.js'

/** What cross-spawn makes of a command; on Windows it finds the file, and who has to run it. */
interface Parsed {
  readonly command: string
  readonly args: string[]
  readonly options: SpawnOptions
  /** Undefined where there is no such file. */
  readonly file: string | undefined
  /** With the script before them if the command is one, and `command` its interpreter. */
  readonly original: { readonly args: string[] }
}

declare module 'cross-spawn' {
  /** Not in its types, nor in its documentation; execa rests on it too. */
  const _parse: (command: string, args: readonly string[], options: SpawnOptions) => Parsed
}

/**
 * Starts a program as Node does, on Windows also what is none to its kernel: the shims of npm and other batch files, and scripts.
 * Throws what Node throws, or a Fault for words that a batch file cannot be given.
 */
export const startProgram = (
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess => {
  const { file, original, ...parsed } = crossSpawn._parse(command, args, options)
  const isForCmd = parsed.options.windowsVerbatimArguments === true
  if (!isForCmd) return spawn(parsed.command, parsed.args, parsed.options)
  // Node says that it is not there, but for batch files, which it does not look for; `cmd` would say so to people only.
  if (file === undefined) {
    if (/\.(?:bat|cmd)$/i.test(command)) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    return spawn(command, args, options)
  }
  if (original.args.length > args.length) return startProgram(parsed.command, original.args, options)
  return spawn(parsed.command, cmdArguments(file, args), parsed.options)
}

/**
 * The words for `cmd.exe` by which it runs a file that is no program, with these arguments. They go to it as they are
 * (`windowsVerbatimArguments`). Throws a Fault for what cannot be given to a batch file.
 */
export const cmdArguments = (file: string, args: readonly string[]): string[] => {
  const line = [quoted(file), ...args.map(asWord)].join(' ')
  // No registry autorun; no "!" that stands for a variable, while %cd:~,% must.
  return ['/d', '/e:on', '/v:off', '/s', '/c', `"${line}"`]
}

/** What needs no quotes; a batch file that puts quotes around it would not expect a last backslash. */
const PLAIN = /^[\w+\-./:@\\]+(?<!\\)$/

const asWord = (text: string): string => {
  if (/[\r\n]/.test(text)) {
    const words =
      'could not be started: "args" must not hold line breaks, which end the command line of a batch file'
    throw new Fault('unavailable', words)
  }
  return PLAIN.test(text) ? text : quoted(text)
}

/**
 * A text as one word for everybody who reads the line: `cmd`; `cmd` again, which reads `%*` of a batch file anew (cross-spawn escapes for
 * one of the two); and the program at the end. Within quotes only `%` and `"` mean something to `cmd`. A doubled quote leaves the
 * quotes and enters them at once, and is one quote to a program (Microsoft C, "Parsing C command-line arguments"). Between the signs
 * of %cd:~,% stands an empty part of a variable that is always there: the sign before it begins no other (CVE-2024-24576).
 */
const quoted = (text: string): string =>
  `"${text
    .replace(/(\\*)("|$)/g, (_, slashes: string, quote: string) => slashes + slashes + quote + quote)
    .replaceAll('%', '%%cd:~,%')}"`

/** How a child ended, as the operating system tells it. */
export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The end of a child in words that follow the name of the server: "exited with code 1". */
export const exitReason = ({ code, signal }: ChildExit): string =>
  signal === null ? `exited with code ${code ?? 'unknown'}` : `was killed by ${signal}`

const START_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'command not found (ENOENT): check "command"',
  EACCES: 'permission denied (EACCES): "command" must be an executable file',
  ENOEXEC: 'not a program (ENOEXEC): a script needs a first line such as "#!/bin/sh"',
  E2BIG: 'too many arguments or variables (E2BIG): check "args" and "env"',
  EMFILE: 'the proxy has no file descriptors left (EMFILE)',
  ENFILE: 'the machine has no file descriptors left (ENFILE)',
  EAGAIN: 'the machine has no room for another process (EAGAIN)',
  ENOMEM: 'the machine has no memory left (ENOMEM)',
  ERR_INVALID_ARG_VALUE: '"command", "args" and "env" must not hold NUL characters',
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown reason'

/** Why a child could not be started; the operator reads it, so it names what to change, and no value. */
export function startFault(error: unknown, cwd: string | undefined): Fault {
  if (error instanceof Fault) return error
  const code = codeOf(error)
  // The operating system has one code for a program that is missing and for a directory that is.
  const noDirectory = cwd !== undefined && (code === 'ENOENT' || code === 'ENOTDIR') && !existsSync(cwd)
  const why = noDirectory ? `working directory not found (${code}): check "cwd"` : START_FAILURES[code]
  return new Fault('unavailable', `could not be started: ${why ?? code}`, { cause: error })
}
