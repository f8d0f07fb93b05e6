import type { CauseCode, ProblemId } from '../diagnostics/causes.js'
import { type Cause, type CauseFacts, cause, type Explained, explain } from '../diagnostics/explain.js'

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

/** A code of a check: a number, or one of its cases. */
export type CheckCode = Extract<CauseCode, ProblemId | `${ProblemId}.${string}`>

/** A problem that a check found. */
export interface Finding extends Explained {
  readonly id: ProblemId
  readonly autoFix: AutoFix | undefined
}

interface More {
  /** A server, client, file or the like; empty if the message suffices. */
  readonly subject?: string
  readonly autoFix?: AutoFix | undefined
}

/** Returns a finding with the texts of its cause. */
export const finding = <Code extends CheckCode>(
  code: Code,
  facts: CauseFacts<Code>,
  { subject = '', autoFix }: More = {},
): Finding => findingOf(cause<CheckCode>(code, facts as CauseFacts<CheckCode>, subject), autoFix)

/** Returns a finding for a cause. */
export const findingOf = (found: Cause<CheckCode>, autoFix?: AutoFix): Finding => {
  const { id = 'D011', ...explained } = explain(found)
  return { ...explained, id, autoFix }
}
