import type { ProblemLevel, ProblemRow } from './row.js'
import { PROBLEMS, type ProblemId } from './table.js'

/** A problem as it was found somewhere. Holds no secrets. */
export interface Problem {
  readonly id: ProblemId
  readonly level: ProblemLevel
  /** What is wrong, as one sentence without its full stop. */
  readonly message: string
  /** The reason, if it is known. */
  readonly why: string | undefined
  /** What to do: a command to paste where there is one. */
  readonly fix: string
}

/** The names in braces of a text; what has spaces in it is JSON. */
type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Exclude<Name, `${string} ${string}`> | Names<Rest>
  : never

type Row<Id extends ProblemId> = (typeof PROBLEMS)[Id]

/** What differs from case to case: all names in the sentence of a problem and in its fix. */
export type ProblemValues<Id extends ProblemId> = Readonly<
  Record<Names<Row<Id>['says'] | Row<Id>['fix']>, string | number>
>

/** What replaces the words of the table where a case is known better. */
export interface ProblemInstead {
  readonly level?: ProblemLevel
  readonly why?: string | undefined
  readonly fix?: string | undefined
}

/** A problem of the table with the words of this case. */
export const problem = <Id extends ProblemId>(
  id: Id,
  values: ProblemValues<Id>,
  { level, why, fix }: ProblemInstead = {},
): Problem => {
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
