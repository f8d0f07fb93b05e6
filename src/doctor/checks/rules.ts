import { matcherOf } from '../../kernel/globs.js'
import { withImplied } from '../../kernel/implied-scopes.js'
import { type Rule, ruleName } from '../../kernel/rule.js'
import type { ConfigFacts } from '../facts.js'
import { type Finding, finding } from '../finding.js'

/** Finds rules that cannot decide about any call, and an `allow` that any client can claim. */
export const lookAtCallRules = ({ loaded, entries, waiting }: ConfigFacts): readonly Finding[] => {
  const { rules = [], auth } = loaded.config ?? {}
  const servers = [...entries.keys(), ...waiting.map(({ name }) => name)]
  return rules.flatMap((each, index) => {
    const [rule, more] = [ruleName(each), { subject: each.id }]
    const { people = [], scopes } = each.who
    const earlier = rules.slice(0, index).find(other => covers(other, each))
    const { server } = each
    const isLost = server !== undefined && !servers.some(matcherOf(server))
    const nobody = people.find(glob => !mayMatchPerson(glob, auth))
    return [
      ...(earlier === undefined ? [] : [finding('D017.covered', { rule, earlier: ruleName(earlier) }, more)]),
      ...(isLost ? [finding('D017.server', { rule, pattern: server.join(', ') }, more)] : []),
      ...(nobody === undefined ? [] : [finding('D017.person', { rule, pattern: nobody }, more)]),
      ...(scopes !== undefined && auth === undefined ? [finding('D017.scopes', { rule }, more)] : []),
      ...(isClaimable(each, rules.slice(index + 1)) ? [finding('D017.client', { rule }, more)] : []),
    ]
  })
}

/** Finds rules that ask where nobody can answer. */
export const lookAtApprovals = ({ loaded }: ConfigFacts): readonly Finding[] => {
  const { rules = [], auth, listen } = loaded.config ?? {}
  const hasPage = listen?.http !== false && (listen?.isGiven === true || auth !== undefined)
  return rules.flatMap(each => {
    const { ask } = each
    if (ask === undefined) return []
    const [rule, more] = [ruleName(each), { subject: each.id }]
    const scopes = ask.of?.scopes ?? []
    const needsPage = ask.of !== undefined || ask.via === 'page'
    const isAlone = ask.of !== undefined && auth === undefined
    return [
      ...(isAlone ? [finding('D018', { rule }, more)] : []),
      ...(auth === undefined || canHave(scopes, auth)
        ? []
        : [finding('D018.scopes', { rule, scopes: scopes.join(' ') }, more)]),
      ...(needsPage && !isAlone && !hasPage ? [finding('D018.page', { rule }, more)] : []),
    ]
  })
}

/** Returns whether a person or a grant of groups may have all of these scopes. */
const canHave = (scopes: readonly string[], auth: NonNullable<Auth>): boolean => {
  const { people, grants, baseScope, scopeImplies } = auth
  const holders = [
    ...people.map(person => person.scopes ?? [baseScope]),
    grants.flatMap(grant => grant.scopes),
    // Tokens of issuers carry scopes of their own.
    ...(auth.issuers.length > 0 ? [scopes] : []),
  ]
  return holders.some(own => {
    const all = withImplied(own, scopeImplies)
    return scopes.every(scope => all.has(scope))
  })
}

type Auth = NonNullable<ConfigFacts['loaded']['config']>['auth']

/** Users of issuers are not known; other callers are programs on this machine, or addresses. */
const mayMatchPerson = (glob: string, auth: Auth): boolean => {
  if (auth !== undefined && (auth.issuers.length > 0 || auth.embedded?.login !== undefined)) return true
  const names = auth?.people.map(({ name }) => name) ?? []
  return ['local', ...names].some(matcherOf([glob])) || /^(?:anonymous\b|\*)/.test(glob)
}

const isClaimable = ({ then, who }: Rule, later: readonly Rule[]): boolean =>
  then === 'allow' &&
  who.clients !== undefined &&
  who.people === undefined &&
  who.scopes === undefined &&
  later.some(other => other.then !== undefined && other.then !== 'allow')

/** Returns whether a rule decides about every call that a later rule matches. */
const covers = (one: Rule, other: Rule): boolean => {
  if (one.then === undefined || one.when.length > 0) return false
  const keys = ['server', 'tool', 'prompt', 'resource'] as const
  return (
    keys.every(key => contains(one[key], other[key])) &&
    contains(one.who.people, other.who.people) &&
    contains(one.who.clients, other.who.clients) &&
    (one.who.scopes ?? []).every(scope => other.who.scopes?.includes(scope) === true) &&
    Object.entries(one.annotations ?? {}).every(([hint, value]) =>
      Object.entries(other.annotations ?? {}).some(([key, each]) => key === hint && each === value),
    ) &&
    (one.annotations === undefined || other.annotations !== undefined)
  )
}

const contains = (all: readonly string[] | undefined, some: readonly string[] | undefined): boolean =>
  all === undefined ||
  some?.every(glob =>
    all.some(each => each === glob || (PREFIX.test(each) && glob.startsWith(each.slice(0, -1)))),
  ) === true

/** A plain text before one `*`. */
const PREFIX = /^[^*?[\]{}()!+@\\|]*\*$/
