import { annotationOf } from '../../catalog/annotations.js'
import { normalUri } from '../../catalog/names/uris.js'
import type { Caller } from '../../kernel/caller.js'
import { matcherOf, textMatcherOf } from '../../kernel/globs.js'
import { pointerSteps } from '../../kernel/json/pointer.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import { HINT_DEFAULTS, type Hint, type Rate, type Rule, type Verdict } from '../../kernel/rule.js'
import { every, PointerTests, type TestResult, type Truth } from '../../kernel/rule-tests.js'
import type { Client } from '../../model/links.js'
import type { CallArguments, Pointer } from './arguments.js'

/** A tool, prompt, resource or template that rules may match, by the server's own name. */
export interface RuledItem {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template'
  readonly server: string
  readonly own: string
  /** A tool whose annotations count; undefined if nothing is known about them. */
  readonly tool?: JsonText | undefined
}

/** The sender of a call, as far as rules see it. */
export interface Asker {
  readonly caller: Pick<Caller, 'principal' | 'scopes'>
  readonly client: Pick<Client, 'info'>
}

/** The result of the rules for one call. */
export interface Ruling {
  readonly verdict: Verdict
  /** The rule that decides; undefined if none matches. */
  readonly by: CompiledRule | undefined
  /** The rules whose rates count the call. */
  readonly counted: readonly CompiledRule[]
}

const PERSON = 'person '
const ALLOWED: Ruling = { verdict: 'allow', by: undefined, counted: [] }

/** A rule with its patterns and tests compiled. */
export class CompiledRule {
  readonly rule: Rule
  readonly index: number
  /** True if every caller matches. */
  readonly isForAll: boolean
  readonly when: readonly (readonly [Pointer, PointerTests])[]
  /** The rates, each with the constant part of its key, which is equal for an equal id and rate. */
  readonly rates: readonly (readonly [key: string, rate: Rate])[]
  readonly #isServer: Matcher
  readonly #isNamed: Readonly<Record<'tool' | 'prompt' | 'resource', Matcher | undefined>>
  readonly #isPerson: Matcher | undefined
  readonly #isClient: Matcher | undefined
  readonly #hints: readonly (readonly [Hint, boolean])[] | undefined

  constructor(rule: Rule, index: number) {
    const { who, server, tool, prompt, resource, annotations, when } = rule
    this.rule = rule
    this.index = index
    this.isForAll = [who.people, who.scopes, who.clients].every(each => each === undefined)
    this.when = when.map(([text, tests]) => [{ text, steps: pointerSteps(text) }, new PointerTests(tests)])
    this.rates = rule.rates.map(rate => [JSON.stringify([rule.id, rate]), rate])
    // In doubt, only an `allow` does not match.
    const matcher = optionalMatcher(rule.then !== 'allow')
    this.#isServer = matcher(server) ?? (() => true)
    this.#isNamed = { tool: matcher(tool), prompt: matcher(prompt), resource: matcher(resource) }
    this.#isPerson = matcher(who.people)
    this.#isClient = matcher(who.clients)
    this.#hints = annotations && (Object.entries(annotations) as [Hint, boolean][])
  }

  /** Returns whether the rule is about an item, whoever calls it. */
  isAbout({ kind, server, own, tool }: RuledItem): boolean {
    const name = kind === 'template' ? 'resource' : kind
    const matches = this.#isNamed[name]
    const isOtherKind = matches === undefined && Object.values(this.#isNamed).some(each => each !== undefined)
    if (isOtherKind || !this.#isServer(server)) return false
    if (this.#hints !== undefined && (kind !== 'tool' || !this.#hints.every(hint => hasHint(tool, hint))))
      return false
    if (matches === undefined) return true
    if (kind !== 'resource') return matches(own)
    const spellings = [own, canonicalUri(own)]
    // Servers may read either spelling.
    return this.rule.then === 'allow' ? spellings.every(matches) : spellings.some(matches)
  }

  /** Returns whether a caller matches. */
  isFor({ caller: { principal, scopes }, client }: Asker): boolean {
    if (this.isForAll) return true
    const { who } = this.rule
    const person = principal.startsWith(PERSON) ? principal.slice(PERSON.length) : principal
    return (
      this.#isPerson?.(person) !== false &&
      who.scopes?.every(scope => scopes?.has(scope)) !== false &&
      this.#isClient?.(textMember(client.info, 'name') ?? '') !== false
    )
  }

  /** Returns whether the arguments pass all tests. */
  passes(args: CallArguments): Truth {
    const needsAll = this.rule.then === 'allow'
    return every(this.when, ([pointer, tests]) => tests.pass(args.at(pointer), needsAll))
  }

  /** Returns whether the rule matches these arguments: in doubt, only an `allow` does not. */
  matches(args: CallArguments): boolean {
    const truth = this.passes(args)
    return truth ?? this.rule.then !== 'allow'
  }

  /** Returns the tests that do not fail, such as `/amount is above 500`. */
  matched(args: CallArguments): readonly string[] {
    const kept = this.results(args).filter(({ holds }) => holds !== false)
    return kept.map(({ pointer, test }) => `${pointer} ${test}`)
  }

  /** Returns the result of each test, with its pointer. */
  results(args: CallArguments): readonly (TestResult & { readonly pointer: string })[] {
    const needsAll = this.rule.then === 'allow'
    return this.when.flatMap(([pointer, tests]) =>
      tests.results(args.at(pointer), needsAll).map(result => ({ pointer: pointer.text, ...result })),
    )
  }
}

/** The compiled rules of a configuration, in their order. */
export class Policy {
  readonly rules: readonly CompiledRule[]
  /** True if some items may be hidden from lists. */
  readonly mayHide: boolean

  constructor(rules: readonly Rule[]) {
    this.rules = rules.map((rule, index) => new CompiledRule(rule, index))
    this.mayHide = rules.some(({ then, when }) => then === 'deny' && when.length === 0)
  }

  /** Returns the rules that may match calls of an item. */
  about(item: RuledItem): readonly CompiledRule[] {
    return this.rules.filter(rule => rule.isAbout(item))
  }
}

/** Decides about a call by the rules about its item: the first one that matches and has `then`. */
export const decide = (about: readonly CompiledRule[], asker: Asker, args: CallArguments): Ruling => {
  if (about.length === 0) return ALLOWED
  const counted: CompiledRule[] = []
  for (const each of about) {
    const { then, rates } = each.rule
    if (!each.isFor(asker) || !each.matches(args)) continue
    if (rates.length > 0) counted.push(each)
    if (then !== undefined) return { verdict: then, by: each, counted }
  }
  return { verdict: 'allow', by: undefined, counted }
}

/**
 * Returns the rule that denies every call of an item, whatever its arguments; undefined if there is none.
 * `isFor` returns whether a rule matches the callers in question.
 */
export const alwaysDenies = (
  about: readonly CompiledRule[],
  isFor: (rule: CompiledRule) => boolean,
): CompiledRule | undefined => {
  for (const each of about) {
    const { then, when } = each.rule
    if (then === undefined || !isFor(each)) continue
    if (then !== 'deny') return undefined
    if (when.length === 0) return each
  }
  return undefined
}

type Matcher = (name: string) => boolean

/** Patterns with only `*` and `?` need no regular expression, which could take long for a name of a peer. */
const PLAIN = /^[^[\]{}()!\\|]*$/
/** Maximum length of a name that a regular expression is matched against; longer ones are in doubt. */
const NAME_CHARS = 512

const optionalMatcher =
  (inDoubt: boolean) =>
  (globs: readonly string[] | undefined): Matcher | undefined => {
    if (globs === undefined) return undefined
    const plain = globs.filter(glob => PLAIN.test(glob)).map(textMatcherOf)
    const others = globs.filter(glob => !PLAIN.test(glob))
    const isPlain: Matcher = name => plain.some(matches => matches(name))
    if (others.length === 0) return isPlain
    const isOther = matcherOf(others)
    return name => isPlain(name) || (name.length > NAME_CHARS ? inDoubt : isOther(name))
  }

/** Reads a hint of a tool with the defaults of the specification; what only reads does not destroy. */
const hasHint = (tool: JsonText | undefined, [hint, wanted]: readonly [Hint, boolean]): boolean => {
  const said = sayOf(tool, hint)
  if (said !== undefined || hint !== 'destructiveHint') return (said ?? HINT_DEFAULTS[hint]) === wanted
  return (sayOf(tool, 'readOnlyHint') !== true) === wanted
}

const sayOf = (tool: JsonText | undefined, hint: Hint): boolean | undefined => {
  const said = tool && annotationOf(tool, hint)?.toString('latin1')
  return said === 'true' || said === 'false' ? said === 'true' : undefined
}

const ESCAPE = /%[0-9a-f]{2}/gi
const UNRESERVED = /[A-Za-z0-9._~-]/

/** Returns a URI in the form that other spellings of it share (RFC 3986 §6.2.2), with `\` as `/`. */
const canonicalUri = (uri: string): string => {
  const plain = uri.replaceAll('\\', '/').replace(ESCAPE, escape => {
    const letter = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return UNRESERVED.test(letter) ? letter : escape.toUpperCase()
  })
  return normalUri(plain)
}
