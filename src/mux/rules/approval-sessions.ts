import type { Clock } from '../../kernel/async/clock.js'
import type { Client } from '../../model/links.js'
import type { Approval, ApprovalSubject } from './approval-records.js'

/** Maximum number of further calls that one answer lets through. */
const CALLS_MAX = 50
/** Maximum number of answers that are remembered for a session. */
const ANSWERS_MAX = 100

interface SessionAnswer {
  readonly approval: Approval
  readonly untilMs: number
  left: number
}

/** Answers that people gave for the rest of a session: for one item and one rule, with any arguments. */
export class SessionAnswers {
  readonly #clock: Clock
  readonly #clients = new WeakMap<Client, Map<string, SessionAnswer>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Remembers an answer; without room for it, the next call asks again. */
  remember(client: Client, approval: Approval, ms: number): void {
    const nowMs = this.#clock.nowMs()
    const answers = this.#clients.get(client) ?? new Map<string, SessionAnswer>()
    this.#clients.set(client, answers)
    for (const [key, { untilMs }] of answers) if (untilMs <= nowMs) answers.delete(key)
    if (answers.size >= ANSWERS_MAX) return
    answers.set(keyOf(approval.subject), { approval, untilMs: nowMs + ms, left: CALLS_MAX })
  }

  /** Returns the approval whose answer covers a call, after counting `uses` of it. */
  find(client: Client, subject: ApprovalSubject, uses = 0): Approval | undefined {
    const answer = this.#clients.get(client)?.get(keyOf(subject))
    if (answer === undefined || answer.left === 0 || answer.untilMs <= this.#clock.nowMs()) return undefined
    answer.left -= uses
    return answer.approval
  }
}

const keyOf = ({ principal, server, method, name, definition, ruleDigest }: ApprovalSubject): string =>
  JSON.stringify([principal, server, method, name, definition ?? null, ruleDigest])
