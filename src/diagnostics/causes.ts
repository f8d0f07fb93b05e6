import type { CauseRow } from './row.js'
import { CLIENT_CAUSES } from './rows/clients.js'
import { COMMAND_LINE_CAUSES } from './rows/command-line.js'
import { CONFIGURATION_CAUSES } from './rows/configuration.js'
import { DAEMON_CAUSES, LIMIT_CAUSES } from './rows/daemon.js'
import { ERROR_CAUSES } from './rows/errors.js'
import { MACHINE_CAUSES } from './rows/machine.js'
import { NAME_CAUSES, STATE_CAUSES } from './rows/names.js'
import { SERVER_CAUSES } from './rows/servers.js'
import { TOOL_CAUSES } from './rows/tools.js'

/**
 * All causes of problems: their codes, messages, severities and fixes. Numbers keep their meaning and are
 * never reused; docs/doctor.md explains each.
 */
export const CAUSES = {
  ...MACHINE_CAUSES,
  ...CONFIGURATION_CAUSES,
  ...SERVER_CAUSES,
  ...DAEMON_CAUSES,
  ...CLIENT_CAUSES,
  ...TOOL_CAUSES,
  ...LIMIT_CAUSES,
  ...NAME_CAUSES,
  ...STATE_CAUSES,
  ...ERROR_CAUSES,
  ...COMMAND_LINE_CAUSES,
}

export type CauseCode = keyof typeof CAUSES

/** A number such as `D030`. */
export type ProblemId = Extract<CauseCode, `D${number}`>

const ROWS: Readonly<Record<string, CauseRow>> = CAUSES

/** Returns the part of a code before the dot. */
export const familyOf = (code: string): string => code.split('.', 1)[0] ?? code

/** Returns the texts of a code, including the texts that it inherits from its family. */
export const rowOf = (code: CauseCode): CauseRow => ({ ...ROWS[familyOf(code)], ...ROWS[code] })

const NUMBER = /^D\d+$/

const isNumber = (code: string): code is ProblemId => NUMBER.test(code)

/** The numbers of all problems, ascending. */
export const PROBLEM_IDS: readonly ProblemId[] = Object.keys(CAUSES).filter(isNumber).sort()

/** Returns the number of the problem in docs/doctor.md. Undefined for causes without one. */
export const numberOf = (code: CauseCode): ProblemId | undefined => {
  const number = rowOf(code).number ?? familyOf(code)
  return isNumber(number) ? number : undefined
}
