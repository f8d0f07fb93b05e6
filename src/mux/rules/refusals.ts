import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { LimitName } from '../../kernel/limits.js'
import { type Rule, ruleName } from '../../kernel/rule.js'
import type { Outcome } from '../../model/outcome.js'
import type { Charge } from './rates.js'

/** Makes the refusal of a call; `about` is sent along as data. */
export const refusal = (reason: string, message: string, about: object = {}): Fault =>
  new Fault('refused', message, { data: { reason, ...about } })

const refusalBy = ({ id }: Rule, reason: string, message: string, about: object = {}): Fault =>
  refusal(reason, message, { rule: id, ...about })

export const denied = (rule: Rule): Fault =>
  refusalBy(
    rule,
    'denied',
    `Denied by ${ruleName(rule)}${rule.reason === undefined ? '' : `: ${rule.reason}`}`,
  )

export const rateLimited = ({ rule, rate: { limit } }: Charge, retryAfterMs: number): Fault => {
  const seconds = Math.ceil(retryAfterMs / 1000)
  const message = `Rate limit exceeded: ${ruleName(rule)} allows ${limit}. Try again in ${seconds} s`
  return refusalBy(rule, 'rate-limited', message, { limit, retryAfterMs })
}

/** Makes the refusal of a call for which nothing can be kept, because of a limit. */
export const overloaded = (
  bounds: LimitCounters,
  rule: Rule,
  limit: LimitName = 'rateBuckets',
  words = 'Too many rates are counted',
): Fault => {
  const { message, data } = bounds.overloaded(limit, words)
  return refusalBy(rule, 'overloaded', message, data)
}

const needsApproval = (rule: Rule): string => `This call needs approval (${ruleName(rule)})`

export const approvalImpossible = (rule: Rule): Fault => {
  const why = 'but this client cannot prompt the user and the proxy has no approval page'
  return refusalBy(rule, 'approval-impossible', `${needsApproval(rule)}, ${why}`)
}

export const approvalTooLarge = (rule: Rule, bytes: number): Fault => {
  const why = `but its arguments are too large to display (${Math.ceil(bytes / 1024)} KiB)`
  return refusalBy(rule, 'approval-too-large', `${needsApproval(rule)}, ${why}`)
}

export const approvalDeclined = (rule: Rule): Fault => {
  const message = `Approval declined (${ruleName(rule)}). Ask the user before trying again`
  return refusalBy(rule, 'approval-declined', message)
}

export const approvalExpired = (rule: Rule): Fault => {
  const message = `Approval timed out: no answer within ${rule.ask?.timeout ?? ''} (${ruleName(rule)})`
  return refusalBy(rule, 'approval-expired', message)
}

export const changedMeanwhile = (rule: Rule): Fault => {
  const message = 'The tool changed while the call was waiting for approval. List the tools again'
  return refusalBy(rule, 'tool-changed', message)
}

/** An approval that still waits, as a refusal names it. */
interface WaitingApproval {
  readonly id: string
  /** The page to decide on; undefined without one. */
  readonly url: string | undefined
  readonly leftMs: number
  readonly endsAtMs: number
}

const neededText = (rule: Rule, { id, url, leftMs }: WaitingApproval): string => {
  const left = leftMs < 60_000 ? `${Math.ceil(leftMs / 1000)} s` : `${Math.round(leftMs / 60_000)} min`
  const how =
    url === undefined
      ? `Run "mcp-proxy approve ${id}", then repeat the same call`
      : `Approve it at ${url}, then repeat the same call. The link expires in ${left}`
  return `This call needs your approval (${ruleName(rule)}). ${how}`
}

const waitingText = (rule: Rule, { id, url }: WaitingApproval): string => {
  const how = url === undefined ? `run "mcp-proxy approve ${id}"` : `approve it at ${url}`
  const waiting = `This call is waiting for another person's approval (${ruleName(rule)})`
  return `${waiting}. They can ${how}. Repeat the same call to check the status`
}

/** Makes the outcome of a call that still waits for its caller, or for another person, to decide. */
export const undecided = (rule: Rule, waiting: WaitingApproval): Outcome => {
  const { id, url, endsAtMs } = waiting
  const approval = { id, ...(url !== undefined && { url }), expiresAt: new Date(endsAtMs).toISOString() }
  const [reason, message] =
    rule.ask?.of === undefined
      ? ['approval-needed', neededText(rule, waiting)]
      : ['approval-waiting', waitingText(rule, waiting)]
  // A fault would mask the address and the id.
  return { kind: 'fault', fault: refusalBy(rule, reason, message, { approval }), message }
}
