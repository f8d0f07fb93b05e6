/** Severity: with an error something fails, a warning will cause a failure, a note is worth knowing. */
export type ProblemLevel = 'note' | 'warn' | 'error'

/** One row of the table of problems. */
export interface ProblemRow {
  /** What is looked at: the heading of docs/doctor.md. */
  readonly about: string
  /** A warning if absent. */
  readonly level?: ProblemLevel
  readonly says: string
  readonly fix: string
  /** What `doctor --fix` does about it, if it can do something. */
  readonly autoFix?: string
}
