import type { ProblemLevel, ProblemRow } from './row.js'
import { PROBLEMS, type ProblemId } from './table.js'

/** A problem of one case. Contains no secrets. */
export interface NumberedProblem {
  readonly id: ProblemId
  readonly level: ProblemLevel
  /** The problem as one sentence, without a full stop. */
  readonly message: string
  /** The reason, if known. */
  readonly why: string | undefined
  /** The fix: a command to paste, if one exists. */
  readonly fix: string
}

/** The `{names}` in a text; braces around text with spaces are JSON. */
type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Exclude<Name, `${string} ${string}`> | Names<Rest>
  : never

type Row<Id extends ProblemId> = (typeof PROBLEMS)[Id]

/** Values for all names in the sentence and the fix of a problem. */
export type ProblemValues<Id extends ProblemId> = Readonly<
  Record<Names<Row<Id>['says'] | Row<Id>['fix']>, string | number>
>

/** Replacements for texts of the table, for cases with more specific information. */
export interface ProblemInstead {
  readonly level?: ProblemLevel
  readonly why?: string | undefined
  readonly fix?: string | undefined
}

/** Returns a problem of the table with its values filled in. */
export const problem = <Id extends ProblemId>(
  id: Id,
  values: ProblemValues<Id>,
  { level, why, fix }: ProblemInstead = {},
): NumberedProblem => {
  const row: ProblemRow = PROBLEMS[id]
  const fill = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (_all, name: string) => String((values as Record<string, unknown>)[name]))
  return {
    id,
    level: level ?? row.level ?? 'warn',
    message: fill(row.says),
    why,
    fix: fix ?? fill(row.fix),
  }
}
