import type { Item } from '../../catalog/listed.js'
import { Interned } from '../../catalog/lists/interned.js'
import type { HidingFilter } from '../../catalog/lists/merge.js'
import type { Owned, Owners } from '../../catalog/owners.js'
import type { Fault } from '../../kernel/faults.js'
import { type JsonText, textOf } from '../../kernel/json/text.js'
import { memoize } from '../../kernel/memoize.js'
import type { Meter } from '../../kernel/meter.js'
import type { Rule, Verdict } from '../../kernel/rule.js'
import type { Counter } from '../../kernel/series.js'
import type { Viewer } from '../../model/links.js'
import { LIST_NAMES, type ListName } from '../../model/listing.js'
import { failed } from '../../model/outcome.js'
import type { ServerOptions } from '../../peers/dial.js'
import {
  type CallDecision,
  type CallGate,
  type CallVerdict,
  NEXT,
  type RoutedRecord,
  TAKEN,
} from '../calls/call-record.js'
import { type ApprovalsContext, CallApprovals, type CurrentRules, ruleDigest } from './approvals.js'
import { CallArguments } from './arguments.js'
import { alwaysDenies, type CompiledRule, decide, Policy, type RuledItem, type Ruling } from './policy.js'
import { type Charge, RateBuckets, type RateBucketsOptions, type RateVerdict } from './rates.js'
import { approvalImpossible, denied, overloaded, rateLimited } from './refusals.js'

/** PORT. Refuses a call of an item that differs from the lock file. Never throws or rejects. */
export type CheckLock = (record: RoutedRecord) => CallVerdict | Promise<CallVerdict>

export interface RuleGateContext extends RateBucketsOptions {
  /** Undefined without metering. */
  readonly meter?: Meter | undefined
  /**
   * Returns the annotations that the configuration gives to tools, by own names, of a server whose own ones
   * do not count; undefined for a trusted server.
   */
  readonly annotationsInstead: (
    server: ServerOptions,
  ) => ((own: string) => Readonly<Record<string, unknown>> | undefined) | undefined
  readonly checkLock?: CheckLock | undefined
  /** Undefined if nobody can be asked. */
  readonly approvals?: Omit<ApprovalsContext, 'clock' | 'bounds' | 'meter'> | undefined
}

const KINDS: Readonly<Record<string, RuledItem['kind'] | undefined>> = {
  'tools/call': 'tool',
  'prompts/get': 'prompt',
  'resources/read': 'resource',
  'resources/directory/read': 'resource',
  'skills/get': 'resource',
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'template',
  // A skill is named by the resource with its text.
  skills: 'resource',
}

/** The items of completions, by the path of their name in the params. */
const COMPLETED: typeof KINDS = { 'ref.name': 'prompt', 'ref.uri': 'template' }

const NO_ARGUMENTS = new CallArguments(undefined)

/** Retries of calls that were counted when they came first. */
const COUNTED: ReadonlySet<string | undefined> = new Set(['relay', 'park', 'url', 'approval'])

/**
 * Decides about calls whose server and item are known, before anything is sent: by the lock file, the rules,
 * their rates, and a person.
 */
export class RuleGate implements CallGate, CurrentRules {
  readonly approvals: CallApprovals | undefined
  readonly #context: RuleGateContext
  readonly #buckets: RateBuckets
  readonly #counters = new Map<string, Counter>()
  #epoch: number | undefined
  #policy: Policy
  /** The rules about each listed item. */
  #about = new WeakMap<Owned, readonly CompiledRule[]>()
  #filters = new Interned<HidingFilter>()
  #hasLock: boolean

  constructor(rules: readonly Rule[], context: RuleGateContext, hasLock = false) {
    this.#context = context
    this.#buckets = new RateBuckets(context)
    this.approvals = context.approvals && new CallApprovals({ ...context, ...context.approvals }, this)
    this.#policy = new Policy(rules)
    this.#hasLock = hasLock
  }

  get policy(): Policy {
    return this.#policy
  }

  /** Replaces the rules; rates keep what they have counted. */
  reload(rules: readonly Rule[], hasLock = false): void {
    this.#policy = new Policy(rules)
    this.#hasLock = hasLock
    this.#about = new WeakMap()
    this.#filters = new Interned()
  }

  decide(record: RoutedRecord): CallVerdict | Promise<CallVerdict> {
    if (record.owner.isOurs === true) return NEXT
    const locked = this.#hasLock ? (this.#context.checkLock?.(record) ?? NEXT) : NEXT
    if (locked instanceof Promise)
      return locked.then(known => (known === NEXT && !record.isOver ? this.#decide(record) : known))
    return locked === NEXT ? this.#decide(record) : locked
  }

  #decide(record: RoutedRecord): CallVerdict | Promise<CallVerdict> {
    const { method, path, params, owner } = record
    const kind = KINDS[method]
    const args = new CallArguments(params)
    const about = this.#rulesAbout(kind ?? COMPLETED[path.join('.')] ?? 'prompt', owner)
    const ruling = decide(about, record, args)
    // Only `deny` applies to completions.
    if (kind === undefined && ruling.verdict !== 'deny') return NEXT
    const charges = chargesOf(ruling, record)
    const taken = charges.length === 0 ? 'ok' : this.#buckets.take(charges)
    return taken instanceof Promise
      ? taken.then(known => (record.isOver ? TAKEN : this.#ruled(record, { ruling, args, taken: known })))
      : this.#ruled(record, { ruling, args, taken })
  }

  stillAsks(record: RoutedRecord, digest: string): boolean {
    const about = this.#rulesAbout(KINDS[record.method] ?? 'tool', record.owner)
    const { decision, rule } = withLock(record, decide(about, record, new CallArguments(record.params)))
    return decision === 'ask' && rule !== undefined && ruleDigest(rule) === digest
  }

  /** Returns the refusal of a subscription to a resource; undefined if no rule denies it. */
  refusalOf(viewer: Viewer, owned: Owned): Fault | undefined {
    const { verdict, by } = decide(this.#rulesAbout('resource', owned), viewer, NO_ARGUMENTS)
    if (verdict !== 'deny' || by === undefined) return undefined
    this.#count({ rule: by.rule.id, decision: 'deny' })
    return denied(by.rule)
  }

  /** Returns what a viewer's lists leave out; undefined if no rule can hide anything. */
  filterFor(viewer: Viewer): HidingFilter | undefined {
    if (!this.#policy.mayHide && !this.#hasLock) return undefined
    const matching = new Set(
      this.#policy.rules.filter(each => each.rule.then !== undefined && each.isFor(viewer)),
    )
    const id = [...matching].map(({ index }) => index).join(' ')
    const hides = (list: ListName, item: Item): boolean =>
      item.lock?.isHidden === true ||
      (item.isOurs !== true &&
        alwaysDenies(this.rulesAbout(list, item), each => matching.has(each)) !== undefined)
    return this.#filters.get(id, () => {
      const byList = new Map(
        LIST_NAMES.map(list => [
          list,
          memoize(
            (items: readonly Item[]) =>
              new Set(items.filter(item => hides(list, item)).map(({ own }) => own)),
          ),
        ]),
      )
      return { hidden: (list, items) => byList.get(list)?.(items) ?? new Set() }
    })
  }

  /** Returns the rules that may match calls of a listed item. */
  rulesAbout(list: ListName, item: Owned): readonly CompiledRule[] {
    return this.#rulesAbout(KINDS[list] ?? 'tool', item)
  }

  #rulesAbout(kind: RuledItem['kind'], item: Owned): readonly CompiledRule[] {
    let about = this.#about.get(item)
    if (about === undefined) {
      const { server, own } = item
      const tool = kind === 'tool' ? this.#annotated(item) : undefined
      about = this.#policy.about({ kind, server: server.name, own, tool })
      this.#about.set(item, about)
    }
    return about
  }

  #annotated({ server, own, text }: Owned): JsonText | undefined {
    const instead = this.#context.annotationsInstead(server.options)
    if (instead === undefined) return text
    const annotations = instead(own)
    return annotations && textOf({ annotations })
  }

  #ruled(record: RoutedRecord, { ruling, args, taken }: Decided): CallVerdict | Promise<CallVerdict> {
    if (taken !== 'ok') return this.#limited(record, taken)
    const { decision, rule } = withLock(record, ruling)
    const tests = ruling.verdict === 'allow' ? [] : (ruling.by?.matched(args) ?? [])
    this.#note(record, { decision, rule: rule?.id ?? DEFAULT, tests })
    return rule === undefined ? NEXT : this.#apply(record, decision, rule)
  }

  #limited(record: RoutedRecord, { over, waitMs }: Exclude<RateVerdict, 'ok'>): CallVerdict {
    this.#note(record, { decision: 'limited', rule: over.rule.id, tests: [] })
    const { bounds } = this.#context
    return failed(waitMs === undefined ? overloaded(bounds, over.rule) : rateLimited(over, waitMs))
  }

  #apply(record: RoutedRecord, decision: Verdict, rule: Rule): CallVerdict | Promise<CallVerdict> {
    switch (decision) {
      case 'allow':
        return NEXT
      case 'deny':
        return failed(denied(rule))
      case 'ask':
        return (
          this.approvals?.ask(record, rule, record.owner.lock?.fields) ?? failed(approvalImpossible(rule))
        )
    }
  }

  #note(record: RoutedRecord, decision: CallDecision): void {
    record.decision = decision
    this.#count(decision)
  }

  #count({ rule, decision }: Pick<CallDecision, 'rule' | 'decision'>): void {
    const { meter } = this.#context
    if (meter === undefined) return
    if (meter.epoch !== this.#epoch) this.#counters.clear()
    this.#epoch = meter.epoch
    const key = `${rule} ${decision}`
    let counter = this.#counters.get(key)
    if (counter === undefined) {
      counter = meter.counter('mcp_proxy_decisions', rule, decision)
      this.#counters.set(key, counter)
    }
    counter.add()
  }
}

/** Asks about calls of items that have changed since they were locked. */
const LOCK_RULE: Rule = {
  ...{ id: 'lock', who: {}, server: undefined, tool: undefined, prompt: undefined, resource: undefined },
  ...{ annotations: undefined, when: [], then: 'ask', rates: [], reason: undefined },
  ask: { of: undefined, via: 'client', timeout: '5m', timeoutMs: 5 * 60_000, rememberMs: undefined },
}

/** A tool that has changed since it was locked is asked about, even if a rule allows it. */
const withLock = ({ owner }: RoutedRecord, { verdict, by }: Ruling) =>
  verdict === 'allow' && owner.lock !== undefined
    ? ({ decision: 'ask', rule: LOCK_RULE } as const)
    : { decision: verdict, rule: by?.rule }

/**
 * Finds the owners of resources, unless a rule denies them to their subscriber: then it rejects with the
 * refusal.
 */
export const subscribable = (
  owners: Pick<Owners, 'uri'>,
  rules: () => RuleGate | undefined,
): Pick<Owners, 'uri'> => ({
  async uri(viewer, exposed) {
    const owned = await owners.uri(viewer, exposed)
    const refusal = rules()?.refusalOf(viewer, owned)
    if (refusal !== undefined) throw refusal
    return owned
  },
})

/** The result of the rules and their rates for a call. */
interface Decided {
  readonly ruling: Ruling
  readonly args: CallArguments
  readonly taken: RateVerdict
}

/** The name of the decision that no rule made. */
const DEFAULT = 'default'

/** Returns the buckets that a call is counted in. */
const chargesOf = (ruling: Ruling, record: RoutedRecord): readonly Charge[] => {
  const { counted, verdict } = ruling
  const { caller, owner, method, retry, decision } = record
  const isCounted = decision !== undefined || COUNTED.has(retry?.state?.kind)
  if (counted.length === 0 || verdict === 'deny' || isCounted) return NO_CHARGES
  const parts = { person: caller.principal, server: owner.server.name, tool: `${method} ${owner.own}` }
  return counted.flatMap(({ rule, rates }) =>
    rates.map(([key, rate]) => ({
      ...{ rule, rate },
      key: rate.per.reduce((all, part) => `${all}\0${parts[part]}`, key),
    })),
  )
}

const NO_CHARGES: readonly Charge[] = []
