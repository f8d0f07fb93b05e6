import { createHash } from 'node:crypto'
import type { Catalog } from '../../catalog/catalog.js'
import type { Principal } from '../../kernel/caller.js'
import { definitionText } from '../../kernel/definitions.js'
import { Fault } from '../../kernel/faults.js'
import { matcherOf } from '../../kernel/globs.js'
import { randomId } from '../../kernel/ids.js'
import { canonicalJson } from '../../kernel/json/canonical.js'
import { memberOf, rawText, textOf } from '../../kernel/json/text.js'
import { memoize } from '../../kernel/memoize.js'
import type { AskRule, Rule } from '../../kernel/rule.js'
import { failed } from '../../model/outcome.js'
import { type CallVerdict, NEXT, type RoutedRecord, TAKEN } from '../calls/call-record.js'
import { invalidState, type RequestStates, requestDigest } from '../input-required/retry/request-states.js'
import { definedIn } from '../routes.js'
import { ApprovalAsking, type AskingContext } from './approval-asking.js'
import {
  Approval,
  ApprovalRecords,
  type ApprovalRecordsOptions,
  type ApprovalSubject,
  isSameCall,
} from './approval-records.js'
import { SessionAnswers } from './approval-sessions.js'
import {
  approvalExpired,
  approvalImpossible,
  approvalTooLarge,
  changedMeanwhile,
  overloaded,
} from './refusals.js'

/** Larger arguments cannot be shown to a person. */
const ARGUMENTS_BYTES = 256 * 1024

const NO_ARGUMENTS = rawText('{}')

type Verdict = CallVerdict | Promise<CallVerdict>
type AskingRule = Rule & { readonly ask: AskRule }

/** The parts of the router, which is built after the rules. */
interface RouterView {
  readonly catalog: Pick<Catalog, 'find' | 'readIfChanged'>
  readonly states: Pick<RequestStates, 'seal' | 'replica'>
}

export interface ApprovalsContext extends ApprovalRecordsOptions, Omit<AskingContext, 'states' | 'sessions'> {
  readonly router: () => RouterView
}

/** PORT. The rules that decide about a call now. */
export interface CurrentRules {
  /** Returns whether a call still needs an approval by a rule with this digest. */
  stillAsks(record: RoutedRecord, ruleDigest: string): boolean
  /** Decides about a call again, without counting it. */
  decide(record: RoutedRecord): Verdict
}

/** A person, as far as it matters for decisions. */
export interface Visitor {
  readonly principal: Principal
  readonly scopes: ReadonlySet<string> | undefined
}

/**
 * Asks people about calls. An approval is bound to the caller, the request, the item's definition and the
 * rule; it is used just before the request is handed to its connection, and then never again.
 */
export class CallApprovals {
  readonly records: ApprovalRecords
  readonly #context: ApprovalsContext
  readonly #rules: CurrentRules
  readonly #asking: ApprovalAsking
  readonly #sessions: SessionAnswers

  constructor(context: ApprovalsContext, rules: CurrentRules) {
    this.#context = context
    this.#rules = rules
    this.records = new ApprovalRecords(context)
    this.#sessions = new SessionAnswers(context.clock)
    this.#asking = new ApprovalAsking(
      { ...context, states: () => context.router().states, sessions: this.#sessions },
      this.records,
      (record, approval) => this.#approved(record, approval),
    )
  }

  /** The page of an approval; undefined without pages. */
  urlOf({ id }: Approval): string | undefined {
    return this.#context.pageUrl(id)
  }

  /** Asks about a call; `changed` names the members of its item that differ from the lock file. */
  ask(record: RoutedRecord, rule: Rule, changed: readonly string[] = []): Verdict {
    const { params } = record
    if (!hasAsk(rule)) return NEXT
    const args = (params && memberOf(params, 'arguments')) ?? NO_ARGUMENTS
    if (args.length > ARGUMENTS_BYTES) return failed(approvalTooLarge(rule, args.length))
    const subject = this.#subjectOf(record, rule)
    const resumed = this.#resumed(record, subject)
    if (resumed !== undefined) return resumed
    const answer = this.#sessions.find(record.client, subject)
    if (answer !== undefined) return this.#letThrough(record, answer, () => this.#useSession(record, subject))
    const left = this.records.leftFor(subject)
    if (left !== undefined) return this.#goOn(record, left)
    const approval = new Approval(
      subject,
      { text: canonicalJson(args), changed },
      this.#context.clock.nowMs(),
    )
    if (!this.#asking.isPossible(record, approval)) return failed(approvalImpossible(rule))
    const limit = this.records.add(approval)
    return limit === undefined
      ? this.#goOn(record, approval)
      : failed(overloaded(this.#context.bounds, rule, limit, 'Too many calls wait for approval'))
  }

  /** Returns whether a person may decide: the caller, or another person whom the rule names. */
  mayDecide({ subject: { principal, rule } }: Approval, visitor: Visitor): boolean {
    const { of } = rule.ask
    if (of === undefined) return visitor.principal === principal
    if (visitor.principal === principal) return false
    const name = visitor.principal.replace(/^person /, '')
    const isNamed = of.people === undefined || matcherOf(of.people)(name)
    return isNamed && (of.scopes ?? []).every(scope => visitor.scopes?.has(scope) === true)
  }

  /** Continues with the approval that a retry names; undefined if the person must be asked anew. */
  #resumed(record: RoutedRecord, subject: ApprovalSubject): Verdict | undefined {
    const state = record.retry?.state
    const named = state !== undefined && 'approval' in state ? state.approval : undefined
    const approval = named && this.records.find(named.id)
    if (named === undefined || approval === undefined) return undefined
    if (!isSameCall(approval.subject, subject) || approval.isHeld) return failed(invalidState())
    if (approval.subject.ruleDigest !== subject.ruleDigest) return undefined
    const { nonce } = named
    return nonce === undefined ? this.#goOn(record, approval) : this.#nextRound(record, approval, nonce)
  }

  /** Lets the next request of an approved call through, whose server has asked for more input. */
  #nextRound(record: RoutedRecord, approval: Approval, nonce: string): Verdict {
    const use = (): CallVerdict => {
      if (approval.nonce !== nonce) return failed(invalidState())
      approval.nonce = undefined
      return NEXT
    }
    if (approval.nonce !== nonce) return failed(invalidState())
    approval.holder = record
    return this.#letThrough(record, approval, use)
  }

  /** Continues with an approval that this call has asked for, or an earlier one has left. */
  #goOn(record: RoutedRecord, approval: Approval): Verdict {
    if (approval.state === 'used' || approval.isReported) return failed(invalidState())
    if (this.#isChanged(record, approval)) return this.#refuseChanged(approval)
    approval.holder = record
    if (approval.state !== 'waiting') return this.#asking.decided(record, approval)
    return approval.isSealed ? this.#asking.answered(record, approval) : this.#asking.ask(record, approval)
  }

  #approved(record: RoutedRecord, approval: Approval): Verdict {
    // Time that people take is not the server's.
    record.totalAtMs += this.#context.clock.nowMs() - Math.max(approval.askedMs, record.beganMs)
    return this.#letThrough(record, approval, () => {
      if (this.records.use(approval)) return NEXT
      const { state, subject } = approval
      return failed(state === 'expired' ? approvalExpired(subject.rule) : invalidState())
    })
  }

  /**
   * Continues a call; `use` is called just before its request is handed over. A definition that may have
   * changed at the server is read first.
   */
  #letThrough(record: RoutedRecord, approval: Approval, use: () => CallVerdict): Verdict {
    const list = definedIn(record.method)
    const { catalog } = this.#context.router()
    const reading = list && catalog.readIfChanged(record.owner.server, record.client, list)
    if (reading === undefined) return this.#useOnce(record, approval, use)
    return reading.then(
      () => (record.isOver ? TAKEN : this.#useOnce(record, approval, use)),
      (thrown: unknown) => failed(Fault.from(thrown)),
    )
  }

  #useOnce(record: RoutedRecord, approval: Approval, use: () => CallVerdict): Verdict {
    const check = (): Verdict | undefined => {
      const { subject } = approval
      // The rules that are in force now decide, and ask again if another one asks.
      if (!this.#rules.stillAsks(record, subject.ruleDigest)) {
        record.approval = undefined
        this.records.withdraw(approval)
        return this.#rules.decide(record)
      }
      return this.#isChanged(record, approval) ? this.#refuseChanged(approval) : undefined
    }
    const refused = check()
    if (refused !== undefined) return refused
    record.asked = approval
    record.approval = { use: () => check() ?? use(), next: () => this.#nonceOf(approval) }
    return NEXT
  }

  /** Returns what a state of the server's own questions carries, so that nobody is asked again. */
  #nonceOf(approval: Approval): { readonly id: string; readonly nonce: string } | undefined {
    if (approval.state !== 'used') return undefined
    approval.nonce = randomId()
    return { id: approval.id, nonce: approval.nonce }
  }

  #useSession(record: RoutedRecord, subject: ApprovalSubject): CallVerdict {
    const approval = this.#sessions.find(record.client, subject, 1)
    if (approval === undefined) return failed(approvalExpired(subject.rule))
    this.records.usedAgain(approval)
    return NEXT
  }

  #isChanged(record: RoutedRecord, { subject: { definition } }: Approval): boolean {
    return definition !== undefined && definition !== this.#definitionOf(record)
  }

  #refuseChanged(approval: Approval): CallVerdict {
    this.records.withdraw(approval)
    return failed(changedMeanwhile(approval.subject.rule))
  }

  #subjectOf(record: RoutedRecord, rule: AskingRule): ApprovalSubject {
    const { client, owner, method, ownName, params } = record
    return {
      principal: client.principal,
      server: owner.server.name,
      method,
      name: ownName,
      digest: requestDigest(method, params),
      definition: this.#definitionOf(record),
      rule,
      ruleDigest: ruleDigest(rule),
    }
  }

  #definitionOf(record: RoutedRecord): string | undefined {
    const list = definedIn(record.method)
    const item = list && this.#context.router().catalog.find(record, list, record.exposed)
    return item && sha256(definitionText(item.lock?.sent ?? item.text))
  }
}

const hasAsk = (rule: Rule): rule is AskingRule => rule.ask !== undefined

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Identifies the content of a rule. Rules do not change, and are replaced by a reload. */
export const ruleDigest = memoize((rule: Rule): string => sha256(canonicalJson(textOf(rule))))
