import { existsSync } from 'node:fs'
import { Fault } from '../../kernel/faults.js'

/** How a child ended, as the operating system tells it. */
export interface ChildExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The end of a child in words that follow the name of the server: "exited with code 1". */
export const exitWords = ({ code, signal }: ChildExit): string =>
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
