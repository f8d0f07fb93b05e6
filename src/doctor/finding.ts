import {
  type NumberedProblem,
  type ProblemInstead,
  type ProblemValues,
  problem,
} from '../problems/problem.js'
import type { ProblemId } from '../problems/table.js'

/** The automatic fix for a finding. */
export type AutoFix =
  /** Sets the permissions of a file or folder. */
  | { readonly is: 'rights'; readonly path: string; readonly mode: number }
  | { readonly is: 'move-secrets' }
  | { readonly is: 'restart' }
  | { readonly is: 'remove'; readonly path: string }
  | { readonly is: 'end'; readonly pid: number; readonly born: string | undefined }
  | { readonly is: 'install'; readonly client: string }
  | { readonly is: 'refresh' }
  | { readonly is: 'service' }
  | { readonly is: 'accept-tools' }

/** A problem and its subject. */
export interface Finding extends NumberedProblem {
  /** A server, client, file or the like; empty if the message suffices. */
  readonly subject: string
  readonly autoFix: AutoFix | undefined
}

interface More extends ProblemInstead {
  readonly subject?: string
  readonly autoFix?: AutoFix | undefined
}

/** Returns a finding with the texts of the table. */
export const finding = <Id extends ProblemId>(
  id: Id,
  values: ProblemValues<Id>,
  { subject = '', autoFix, ...instead }: More = {},
): Finding => ({ ...problem(id, values, instead), subject, autoFix })
