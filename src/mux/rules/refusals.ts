import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { LimitName } from '../../kernel/limits.js'
import { type Rule, ruleName } from '../../kernel/rule.js'
import type { Outcome } from '../../model/outcome.js'
import type { Charge } from './rates.js'

/** Makes the refusal of a call; `about` is sent along as data. */
export const refusal = (reason: string, message: string, about: object = {}): Fault =>
  new Fault('refused', message, { data: { reason, ...about } })

export const denied = (rule: Rule): Fault => {
  const why = rule.reason === undefined ? '' : `: ${rule.reason}`
  return refusal('denied', `Denied by ${ruleName(rule)}${why}`, { rule: rule.id })
}

export const rateLimited = ({ rule, rate: { limit } }: Charge, retryAfterMs: number): Fault => {
  const seconds = Math.ceil(retryAfterMs / 1000)
  const message = `Rate limit exceeded: ${ruleName(rule)} allows ${limit}. Try again in ${seconds} s`
  return refusal('rate-limited', message, { rule: rule.id, limit, retryAfterMs })
}

export const approvalImpossible = (rule: Rule): Fault => {
  const words = 'but this client cannot prompt the user and the proxy has no approval page'
  const message = `This call needs approval (${ruleName(rule)}), ${words}`
  return refusal('approval-impossible', message, { rule: rule.id })
}

/** Makes the refusal of a call for which nothing can be kept, because of a limit. */
export const overloaded = (
  bounds: LimitCounters,
  rule: Rule,
  limit: LimitName = 'rateBuckets',
  words = 'Too many rates are counted',
): Fault => {
  const { message, data } = bounds.overloaded(limit, words)
  return refusal('overloaded', message, { rule: rule.id, ...data })
}

export const approvalTooLarge = (rule: Rule, bytes: number): Fault => {
  const size = `${Math.ceil(bytes / 1024)} KiB`
  const message = `This call needs approval (${ruleName(rule)}), but its arguments are too large to display (${size})`
  return refusal('approval-too-large', message, { rule: rule.id })
}

export const approvalDeclined = (rule: Rule): Fault =>
  refusal('approval-declined', `Approval declined (${ruleName(rule)}). Ask the user before trying again`, {
    rule: rule.id,
  })

export const approvalExpired = (rule: Rule): Fault => {
  const within = rule.ask?.timeout ?? ''
  const message = `Approval timed out: no answer within ${within} (${ruleName(rule)})`
  return refusal('approval-expired', message, { rule: rule.id })
}

export const changedMeanwhile = (rule: Rule): Fault =>
  refusal('tool-changed', 'The tool changed while the call was waiting for approval. List the tools again', {
    rule: rule.id,
  })

/** An approval that still waits, as a refusal names it. */
interface WaitingApproval {
  readonly id: string
  /** The page to decide on; undefined without one. */
  readonly url: string | undefined
  readonly leftMs: number
  readonly endsAtMs: number
}

/** Makes the outcome of a call that its own caller can approve before the next try. */
export const approvalNeeded = (rule: Rule, approval: WaitingApproval): Outcome => {
  const { id, url, leftMs } = approval
  const left = leftMs < 60_000 ? `${Math.ceil(leftMs / 1000)} s` : `${Math.round(leftMs / 60_000)} min`
  const how =
    url === undefined
      ? `Run "mcp-proxy approve ${id}", then repeat the same call`
      : `Approve it at ${url}, then repeat the same call. The link expires in ${left}`
  return naming(
    'approval-needed',
    rule,
    approval,
    `This call needs your approval (${ruleName(rule)}). ${how}`,
  )
}

/** Makes the outcome of a call that another person has not decided about. */
export const approvalWaiting = (rule: Rule, approval: WaitingApproval): Outcome => {
  const { id, url } = approval
  const how = url === undefined ? `run "mcp-proxy approve ${id}"` : `approve it at ${url}`
  const waiting = `This call is waiting for another person's approval (${ruleName(rule)})`
  const message = `${waiting}. They can ${how}. Repeat the same call to check the status`
  return naming('approval-waiting', rule, approval, message)
}

/** A fault would mask the address and the id. */
const naming = (
  reason: string,
  rule: Rule,
  { id, url, endsAtMs }: WaitingApproval,
  message: string,
): Outcome => {
  const approval = { id, ...(url !== undefined && { url }), expiresAt: new Date(endsAtMs).toISOString() }
  return { kind: 'fault', fault: refusal(reason, message, { rule: rule.id, approval }), message }
}
