/** Severity: with an error something fails, a warning will cause a failure, a note is worth knowing. */
export type ProblemLevel = 'note' | 'warn' | 'error'

/** One row of the table of problems. */
export interface ProblemRow {
  /** The subject of the check: its heading in docs/doctor.md. */
  readonly about: string
  /** A warning if absent. */
  readonly level?: ProblemLevel
  readonly says: string
  readonly fix: string
  /** The automatic fix of `doctor --fix`, if there is one. */
  readonly autoFix?: string
}
