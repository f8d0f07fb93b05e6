/** Severity: with an error something fails, a warning will cause a failure, a note is worth knowing. */
export type Level = 'note' | 'warn' | 'error'

/**
 * The texts of one cause. `{names}` are filled in from its facts; `{'name'}` is also quoted for a shell if
 * necessary. A case such as `D006.full` overrides texts of `D006` and inherits the others.
 */
export interface CauseRow {
  /** The subject of the check: its heading in docs/doctor.md. */
  readonly about?: string
  /** A warning if absent. */
  readonly level?: Level
  /** The number of the problem, for rows without a number in their code. */
  readonly number?: string
  /** The cause in a word or two, for a badge. */
  readonly label?: string
  /** The fact, as one sentence without a full stop. */
  readonly says?: string
  /** The reason. If absent, the fact `why` has it, if known. */
  readonly why?: string
  /** The fix: a command to paste, if one exists. */
  readonly fix?: string
  /** The command that fixes or explains it, if the fix is a sentence. */
  readonly command?: string
  /** The automatic fix of `doctor --fix`, if there is one. */
  readonly autoFix?: string
}

export type CauseRows = Readonly<Record<string, CauseRow>>
