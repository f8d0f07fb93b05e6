import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { type Rule, ruleName } from '../../kernel/rule.js'
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
export const overloaded = (bounds: LimitCounters, rule: Rule): Fault => {
  const { message, data } = bounds.overloaded('rateBuckets', 'Too many rates are counted')
  return refusal('overloaded', message, { rule: rule.id, ...data })
}
