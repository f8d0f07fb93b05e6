import type { Node } from 'jsonc-parser'
import { compareDecimals } from '../../kernel/json/canonical.js'
import { rawText } from '../../kernel/json/text.js'
import type { AskRule, Rate, Rule, WhenTests } from '../../kernel/rule.js'
import { PointerTests } from '../../kernel/rule-tests.js'
import { syntaxValueOf } from '../file/syntax.js'
import { itemAt, members, type TreeItem } from '../file/tree.js'
import { durationMs, type Quantity } from '../schema/duration.js'
import { type SettingsValues, validateSettings } from '../schema/validate.js'
import { type ReadContext, reportMisfits } from './entry.js'

type RuleValues = NonNullable<SettingsValues['rules']>[number]
type RateValues = NonNullable<RuleValues['rate']>
type OneRate = Exclude<RateValues, readonly unknown[]>

const PATTERNS_MAX = 100
const POINTERS_MAX = 20
const LEVELS_MAX = 16
const SECOND = 1000
const HOUR = 3600 * SECOND

/** Reads `rules`; empty if they are absent. Any error makes all of them invalid. */
export const readRules = (
  items: ReadonlyMap<string, TreeItem>,
  context: ReadContext,
): readonly Rule[] | 'invalid' => {
  const item = items.get('rules')
  if (item === undefined) return []
  const { report } = context
  const { errors } = report
  const result = validateSettings({ rules: syntaxValueOf(item) })
  if (result.is === 'misfit') reportMisfits(result.misfits, items, report)
  const values = result.is === 'fine' ? (result.value.rules ?? []) : []
  const ids = new Set<string>()
  const rules = values.map((value, index) => {
    const read = new RuleReader(itemAt(item, [String(index)]), context).read(value, `#${index + 1}`)
    if (ids.has(read.id))
      report.error(itemAt(item, [String(index), 'id']), {
        message: 'an earlier rule has this id',
        fix: 'Give each rule an id of its own.',
      })
    ids.add(read.id)
    return read
  })
  return report.errors > errors ? 'invalid' : rules
}

class RuleReader {
  readonly #item: TreeItem
  readonly #context: ReadContext

  constructor(item: TreeItem, context: ReadContext) {
    this.#item = item
    this.#context = context
  }

  read(values: RuleValues, position: string): Rule {
    const { id = position, who = {}, annotations, then, reason, rate } = values
    this.#checkTogether(values)
    return {
      id,
      who: { people: listOf(who.people), scopes: who.scopes, clients: listOf(who.clients) },
      ...{ server: listOf(values.server), tool: listOf(values.tool) },
      ...{ prompt: listOf(values.prompt), resource: listOf(values.resource) },
      ...{ annotations, when: this.#when(), then, reason },
      ask: then === 'ask' ? this.#ask(values.ask) : undefined,
      rates: ratesOf(rate).map(rateOf),
    }
  }

  #checkTogether({ then, rate, ask, annotations, tool, prompt, resource, who, server }: RuleValues): void {
    const kinds = Object.entries({ tool, prompt, resource }).flatMap(([key, globs]) => (globs ? key : []))
    const [, second] = kinds
    const patterns = [tool, prompt, resource, server, who?.people, who?.clients].flatMap(each => each ?? [])
    if (then === undefined && rate === undefined)
      this.#error([], 'this rule decides nothing', 'Add "then" or "rate".')
    if (ask !== undefined && then !== 'ask')
      this.#error(['ask'], 'this rule does not ask', 'Write "then": "ask", or remove "ask".')
    if (annotations !== undefined && (prompt ?? resource) !== undefined)
      this.#error(['annotations'], 'only tools have annotations', 'Remove "annotations", or name a "tool".')
    if (second !== undefined)
      this.#error([second], `"${kinds.join('" and "')}" in one rule match nothing`, 'Write a rule for each.')
    if (patterns.length > PATTERNS_MAX)
      this.#error([], `more than ${PATTERNS_MAX} patterns`, 'Split the rule into several.')
  }

  #when(): Rule['when'] {
    const item = members(this.#item).get('when')
    const pointers = [...members(item)]
    if (item !== undefined && pointers.length === 0) this.#error(['when'], 'there are no tests', NO_TESTS_FIX)
    if (pointers.length > POINTERS_MAX)
      this.#error(['when'], `more than ${POINTERS_MAX} pointers`, 'Split the rule into several.')
    return pointers.map(([pointer, tests]) => [pointer, this.#tests(pointer, tests)] as const)
  }

  #tests(pointer: string, item: TreeItem): WhenTests {
    const found = members(item)
    const text = (key: string): string | undefined => {
      const value = found.get(key)
      return value && jsonOf(value.node, this.#context.text)
    }
    const { glob, oneOf, present } = syntaxValueOf(item) as Pick<WhenTests, 'glob' | 'oneOf' | 'present'>
    const elements = found.get('oneOf')?.node.children ?? []
    const tests: WhenTests = {
      equals: text('equals'),
      oneOf: oneOf && elements.map(node => jsonOf(node, this.#context.text)),
      glob: listOf(glob),
      above: text('above'),
      below: text('below'),
      present,
    }
    const at = ['when', pointer]
    const levels = pointer.split('/').slice(1)
    if (levels.length > LEVELS_MAX)
      this.#error(at, `the pointer has more than ${LEVELS_MAX} levels`, 'Write a shorter one.')
    if (found.size === 0) this.#error(at, 'there are no tests', NO_TESTS_FIX)
    else if (levels.includes('*') && present !== undefined)
      this.#error([...at, 'present'], '"*" stands for present values only', 'Remove "present", or the "*".')
    else if (excludeEachOther(tests))
      this.#error(at, 'no value passes all of these tests', 'Correct them, or write a rule for each.')
    return tests
  }

  #ask({ of, via = 'client', timeout = '5m', remember }: RuleValues['ask'] = {}): AskRule {
    return {
      of: of && { people: listOf(of.people), scopes: of.scopes },
      via,
      timeout: typeof timeout === 'number' ? `${timeout}ms` : timeout,
      timeoutMs: this.#duration('timeout', timeout, 1),
      rememberMs: remember === undefined ? undefined : this.#duration('remember', remember, 8),
    }
  }

  #duration(key: 'timeout' | 'remember', value: Quantity, mostHours: number): number {
    const ms = durationMs(value)
    if (ms < SECOND || ms > mostHours * HOUR)
      this.#error(['ask', key], 'out of range', `Write a duration from "1s" to "${mostHours}h".`)
    return ms
  }

  #error(path: readonly string[], message: string, fix: string): void {
    this.#context.report.error(itemAt(this.#item, path), { message, fix })
  }
}

const NO_TESTS_FIX = 'Write tests, such as { "/amount": { "above": 500 } }.'

const listOf = (value: string | readonly string[] | undefined): readonly string[] | undefined =>
  typeof value === 'string' ? [value] : value

const ratesOf = (value: RateValues | undefined): readonly OneRate[] => {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

const PERIODS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: 60 * SECOND, h: HOUR, d: 24 * HOUR }

const rateOf = (value: OneRate): Rate => {
  const { limit, burst, per = ['person'] } = typeof value === 'string' ? { limit: value } : value
  const [, calls, length, unit = ''] = /^(\d+)\/(\d+)(\w+)$/.exec(limit) ?? []
  const periodMs = Number(length) * (PERIODS[unit] ?? Number.NaN)
  return { limit, calls: Number(calls), periodMs, burst: burst ?? Number(calls), per }
}

/** Writes a value as JSON; numbers keep their text, because `JSON.parse` would round them. */
const jsonOf = ({ type, children = [], offset, length, value }: Node, text: string): string => {
  switch (type) {
    case 'object':
      return `{${children.map(child => jsonOf(child, text)).join(',')}}`
    case 'property':
      return children.map(child => jsonOf(child, text)).join(':')
    case 'array':
      return `[${children.map(child => jsonOf(child, text)).join(',')}]`
    case 'number':
      return text.slice(offset, offset + length)
    case 'string':
    case 'boolean':
    case 'null':
      return JSON.stringify(value)
  }
}

/** Returns whether no value can pass all tests. */
const excludeEachOther = (tests: WhenTests): boolean => {
  const { equals, oneOf, glob, above, below, present } = tests
  const literals = equals === undefined ? oneOf : [equals]
  const others = [literals, glob, above, below].some(test => test !== undefined)
  if (present === false || !others) return others
  if (literals !== undefined) {
    const compiled = new PointerTests(tests)
    const isPassed = (value: string): boolean =>
      compiled.pass({ values: [rawText(value)], isAbsent: false, isDoubtful: false }, false) === true
    return !literals.some(isPassed)
  }
  const isNumeric = above !== undefined || below !== undefined
  if (glob !== undefined && isNumeric) return true
  return above !== undefined && below !== undefined && compareDecimals(above, below) >= 0
}
