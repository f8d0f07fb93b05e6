import { cause } from '../../diagnostics/explain.js'
import { Fault } from '../../kernel/faults.js'
import { withImplied } from '../../kernel/implied-scopes.js'
import { JsonTextError, kindOf, objectText, readJson, textOf } from '../../kernel/json/text.js'
import { type Rule, ruleName } from '../../kernel/rule.js'
import { LIST_NAMES } from '../../model/listing.js'
import { CallArguments } from '../../mux/rules/arguments.js'
import { type Asker, alwaysDenies, type CompiledRule, decide } from '../../mux/rules/policy.js'
import type { ControlApiContext } from './context.js'
import type { Found } from './item-changes.js'
import { placed } from './places.js'
import { type Reason, reason } from './verdicts.js'
import { mergedItems } from './views.js'

/** The output of `mcp-proxy rules test --json`. */
export interface RuleTest {
  readonly version: 1
  readonly decision: Rule['then']
  /** The id of the rule that decides; `default` if none matches. */
  readonly rule: string
  /** The line of that rule in the file. */
  readonly line: number | null
  /** True if lists omit the item for this caller. */
  readonly hidden: boolean
  /** The tests of that rule; null if a test is unknown. */
  readonly tests: readonly {
    readonly pointer: string
    readonly test: string
    readonly holds: boolean | null
  }[]
  /** The rules before it that did not decide. */
  readonly passed: readonly { readonly rule: string; readonly because: string }[]
  /** The rates that count the call. */
  readonly rates: readonly { readonly rule: string; readonly limit: string }[]
}

/** Decides about a call without making it. Throws a Fault `invalid-params` for a bad name or arguments. */
export const testRules = (
  context: ControlApiContext,
  query: URLSearchParams,
  hidden: ReadonlySet<string>,
): RuleTest => {
  const { item, list } = itemNamed(context, query.get('name') ?? '')
  if (hidden.has(item.server.name)) throw unknownName(query.get('name') ?? '')
  const { rules } = context.router
  const asker = askerIn(context, query)
  const args = new CallArguments(objectText([['arguments', argumentsIn(query.get('args') ?? '{}')]]))
  const asked = { about: rules?.rulesAbout(list, item) ?? [], asker, args }
  const { verdict, by, counted } = decide(asked.about, asker, args)
  const before = rules?.policy.rules.slice(0, by?.index) ?? []
  return {
    version: 1,
    decision: verdict,
    ...(by === undefined ? NO_RULE : decidedBy(context, by, args)),
    hidden: alwaysDenies(asked.about, each => each.isFor(asker)) !== undefined,
    passed: before.map(each => ({ rule: each.rule.id, because: reasonFor(each, asked) })),
    rates: counted.flatMap(({ rule }) => rule.rates.map(({ limit }) => ({ rule: rule.id, limit }))),
  }
}

const NO_RULE = { rule: 'default', line: null, tests: [] }

const decidedBy = (context: ControlApiContext, by: CompiledRule, args: CallArguments) => ({
  rule: by.rule.id,
  line: placeOf(context, by).line ?? null,
  tests: by.results(args).map(({ holds = null, ...test }) => ({ ...test, holds })),
})

interface Asked {
  readonly about: readonly CompiledRule[]
  readonly asker: Asker
  readonly args: CallArguments
}

/** Says why a rule does not decide about a call. */
const reasonFor = (each: CompiledRule, { about, asker, args }: Asked): string => {
  if (!about.includes(each)) return 'it is about other items'
  if (!each.isFor(asker)) return 'it is about other callers'
  if (each.matches(args)) return 'it only counts'
  const failed = each.results(args).filter(({ holds }) => holds !== true)
  return failed.map(({ pointer, test }) => `${pointer} ${test}`).join(', ')
}

/** Finds an item by its exposed name or as `SERVER/OWN`; an unlisted tool has no annotations. */
const itemNamed = (context: ControlApiContext, name: string) => {
  const [server = '', own] = name.split(/\/(.*)/s)
  for (const list of LIST_NAMES)
    for (const item of mergedItems(context, list))
      if (item.exposed === name || (item.server.name === server && item.own === own)) return { list, item }
  for (const view of context.router.catalog.views.values()) {
    const { alias } = view.server.options
    const rest = name.startsWith(`${alias}__`) ? name.slice(alias.length + 2) : undefined
    const unlisted = view.server.name === server ? own : view.exposure.prefix ? rest : undefined
    if (unlisted) return { list: 'tools' as const, item: { server: view.server, own: unlisted } }
  }
  throw unknownName(name)
}

const unknownName = (name: string): Fault =>
  new Fault('invalid-params', `no server has ${name}; write the name that clients see, or SERVER/NAME`)

const argumentsIn = (text: string) => {
  try {
    const args = readJson(Buffer.from(text))
    if (kindOf(args) === 'object') return args
  } catch (thrown) {
    if (!(thrown instanceof JsonTextError)) throw thrown
  }
  throw new Fault('invalid-params', 'the arguments must be a JSON object, such as {"amount": 900}')
}

/** A person of `auth.people` has her scopes, unless some are given. */
const askerIn = (context: ControlApiContext, query: URLSearchParams): Asker => {
  const { auth } = context.config()
  const name = query.get('as') ?? 'local'
  const person = auth?.people.find(each => each.name === name)
  const given = query.getAll('scope')
  const own = person === undefined ? [] : (person.scopes ?? [auth?.baseScope ?? ''])
  const scopes = withImplied(given.length > 0 ? given : own, auth?.scopeImplies ?? {})
  return {
    caller: { principal: person === undefined ? name : `person ${name}`, scopes },
    client: { info: textOf({ name: query.get('client') ?? '' }) },
  }
}

// ── why ──

/** Returns a cause for each rule that can decide about an item. Later rules than one for all calls cannot. */
export const rulesAbout = (
  context: ControlApiContext,
  { view, list, own, raw }: Found,
): { readonly isDenied: boolean; readonly causes: readonly Reason[] } => {
  const text = list === 'tools' ? view.tools.overridden(own, raw) : raw
  const about = context.router.rules?.rulesAbout(list, { server: view.server, own, text }) ?? []
  const deciding = about.filter(({ rule }) => rule.then !== undefined)
  const last = deciding.findIndex(({ isForAll, when }) => isForAll && when.length === 0)
  const able = last < 0 ? deciding : deciding.slice(0, last + 1)
  const denial = alwaysDenies(able, ({ rule, isForAll }) => rule.then !== 'deny' || isForAll)
  const causes = able.map(each => {
    const facts = { rule: ruleName(each.rule), what: whatOf(each.rule), conditions: conditionsOf(each) }
    const found = each === denial ? cause('rule.always', facts) : cause('rule', facts)
    return reason(found, placeOf(context, each))
  })
  return { isDenied: denial !== undefined, causes }
}

/** Returns the cause for the rule that refused a call, with the tests that matched. */
export const ruleBehind = (
  context: ControlApiContext,
  id: string,
  tests: readonly string[],
): Reason | undefined => {
  const found = context.router.rules?.policy.rules.find(({ rule }) => rule.id === id)
  if (found === undefined) return undefined
  const matched = tests.length === 0 ? '' : `: ${tests.join(', ')}`
  return reason(cause('rule.matched', { rule: ruleName(found.rule), matched }), placeOf(context, found))
}

const placeOf = (context: ControlApiContext, { index }: CompiledRule) =>
  placed(context, ['rules', String(index)])

const whatOf = ({ then, rates }: Rule): string =>
  [...(then === undefined ? [] : [then]), ...rates.map(({ limit }) => `at most ${limit}`)].join(', ')

const conditionsOf = ({ rule: { who }, when }: CompiledRule): string => {
  const all = [
    ...(who.people === undefined ? [] : [`the person is ${who.people.join(' or ')}`]),
    ...(who.scopes === undefined ? [] : [`the caller has ${who.scopes.join(' and ')}`]),
    ...(who.clients === undefined ? [] : [`the client is ${who.clients.join(' or ')}`]),
    ...when.flatMap(([{ text }, tests]) => tests.words.map(words => `${text} ${words}`)),
  ]
  return all.length === 0 ? '' : `, if ${all.join(' and ')}`
}
