import { LOCAL } from '../../kernel/caller.js'
import { rawText, valueOf } from '../../kernel/json/text.js'
import type { AskRule } from '../../kernel/rule.js'
import { maskJson } from '../../kernel/secrets/mask.js'
import type { Approval } from '../../mux/rules/approval-records.js'
import type { ControlApiContext } from './context.js'

/** The output of `mcp-proxy approvals --json`. */
export interface ApprovalsView {
  readonly version: 1
  readonly approvals: readonly ApprovalView[]
}

interface ApprovalView {
  readonly id: string
  readonly principal: string
  readonly server: string
  /** The server's own name. */
  readonly name: string
  /** Null if `local` may not decide. Parsing rounds numbers and drops repeated members. */
  readonly arguments: unknown
  /** The same as JSON text, exactly. */
  readonly argumentsText: string | null
  readonly rule: string
  /** Null for the caller. */
  readonly of: AskRule['of'] | null
  /** Null without pages. */
  readonly url: string | null
  /** The time since the question. */
  readonly askedMs: number
  readonly expiresAt: string
  readonly digest: string
}

/** Lists the calls that wait for a person. */
export const approvalsView = ({ router, clock }: ControlApiContext): ApprovalsView => {
  const approvals = router.rules?.approvals
  const view = (approval: Approval): ApprovalView => {
    const { id, subject, text, askedMs, endsAtMs } = approval
    const { principal, server, name, rule, digest } = subject
    const shown = approvals?.mayDecide(approval, LOCAL) === true ? maskJson(text) : null
    return {
      ...{ id, principal, server, name },
      ...{ arguments: shown === null ? null : valueOf(rawText(shown)), argumentsText: shown },
      ...{ rule: rule.id, of: rule.ask.of ?? null, url: approvals?.urlOf(approval) ?? null },
      ...{
        askedMs: Math.round(clock.nowMs() - askedMs),
        expiresAt: new Date(endsAtMs).toISOString(),
        digest,
      },
    }
  }
  return { version: 1, approvals: (approvals?.records.waiting ?? []).map(view) }
}

/** Decides as `local`; false for an approval that is unknown, decided, or of another person. */
export const decideHere = (
  { router }: ControlApiContext,
  id: string,
  isAllowed: boolean,
): { readonly version: 1; readonly decided: boolean } => {
  const approvals = router.rules?.approvals
  const approval = approvals?.records.find(id)
  const decided =
    approvals !== undefined &&
    approval !== undefined &&
    approvals.mayDecide(approval, LOCAL) &&
    approvals.records.decide(approval, isAllowed, { by: LOCAL.principal, via: 'cli' })
  return { version: 1, decided }
}
