import fc from 'fast-check'
import t from 'tap'
import { holds, runs } from '../../support/property.js'
import { rulesOf, ruleTool } from '../../support/rules.js'

// Compares the rules with a slow model that works on trees instead of text.

/** A JSON value that keeps repeated members and the spelling of scalars. */
type Tree =
  | { readonly object: readonly (readonly [string, Tree])[] }
  | { readonly list: readonly Tree[] }
  | string

const KEYS = ['a', 'b', '0', 'é']

const scalars = fc.constantFrom(
  ...['0', '-0', '1', '1.0', '10e-1', '5', '"5"', '"1"', '"a"', '"ab"', '"/x/a"', '"/x/../a"', '"a\\u0001"'],
  ...['true', '"true"', 'null', '"null"', '""', '1e400', '-1e400', `1${'0'.repeat(100)}`],
)

const { tree } = fc.letrec<{ tree: Tree; key: string }>(tie => ({
  key: fc.constantFrom(...KEYS),
  tree: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { arbitrary: scalars, weight: 3 },
    fc.array(fc.tuple(fc.constantFrom(...KEYS), tie('tree')), { maxLength: 3 }).map(object => ({ object })),
    fc.array(tie('tree'), { maxLength: 3 }).map(list => ({ list })),
  ),
}))

const spelled = (key: string): string =>
  `"${[...key].map(letter => (letter === 'a' ? '\\u0061' : letter)).join('')}"`

const textOfTree = (value: Tree): string => {
  if (typeof value === 'string') return value
  if ('list' in value) return `[ ${value.list.map(textOfTree).join(' , ')} ]`
  return `{${value.object.map(([key, each], at) => `${at % 2 === 0 ? JSON.stringify(key) : spelled(key)} :${textOfTree(each)}`).join(',')}}`
}

const TESTS = [
  { above: 0 },
  { below: 1 },
  { above: 0, below: 5 },
  { equals: 1 },
  { equals: '5' },
  { oneOf: ['a', true, null, 0] },
  { glob: 'a*' },
  { glob: ['/x/*', '?'] },
  { present: true },
  { present: false },
] as const

type Tests = Partial<{
  above: number
  below: number
  equals: unknown
  oneOf: readonly unknown[]
  glob: string | readonly string[]
  present: boolean
}>

const pointers = fc
  .array(fc.constantFrom(...KEYS, '*'), { minLength: 1, maxLength: 3 })
  .map(steps => steps.map(step => `/${step}`).join(''))

const rules = fc.array(
  fc
    .record({
      when: fc.dictionary(pointers, fc.constantFrom<Tests>(...TESTS), { minKeys: 1, maxKeys: 2 }),
      then: fc.constantFrom('allow', 'deny', 'ask'),
    })
    .filter(({ when }) =>
      Object.entries(when).every(([pointer, tests]) => !pointer.includes('*') || tests.present === undefined),
    ),
  { minLength: 1, maxLength: 4 },
)

// ── the model ──

type Truth = boolean | 'unknown'

interface Place {
  readonly values: readonly Tree[]
  readonly absent: number
  readonly doubts: number
}

const NOWHERE: Place = { values: [], absent: 1, doubts: 0 }
const DOUBT: Place = { values: [], absent: 0, doubts: 1 }

const joined = (places: readonly Place[]): Place => ({
  values: places.flatMap(({ values }) => values),
  absent: places.reduce((sum, { absent }) => sum + absent, 0),
  doubts: places.reduce((sum, { doubts }) => sum + doubts, 0),
})

const placesAt = (value: Tree, [step, ...rest]: readonly string[]): Place => {
  if (step === undefined) return { values: [value], absent: 0, doubts: 0 }
  if (typeof value === 'string') return step === '*' ? DOUBT : NOWHERE
  if ('list' in value) {
    if (step === '*') return joined(value.list.map(each => placesAt(each, rest)))
    const found = /^\d+$/.test(step) ? value.list[Number(step)] : undefined
    return found === undefined ? NOWHERE : placesAt(found, rest)
  }
  const keys = value.object.map(([key]) => key)
  if (step === '*') {
    const all = joined(value.object.map(([, each]) => placesAt(each, rest)))
    return new Set(keys).size === keys.length ? all : joined([all, DOUBT])
  }
  const found = value.object.filter(([key]) => key === step)
  if (found.length > 1) return DOUBT
  return found[0] === undefined ? NOWHERE : placesAt(found[0][1], rest)
}

const all = (truths: readonly Truth[]): Truth =>
  truths.includes(false) ? false : truths.includes('unknown') ? 'unknown' : true
const any = (truths: readonly Truth[]): Truth =>
  truths.includes(true) ? true : truths.includes('unknown') ? 'unknown' : false

const isText = (value: Tree): value is string => typeof value === 'string' && value.startsWith('"')
const isNumber = (value: Tree): value is string => typeof value === 'string' && /^[-\d]/.test(value)

const equalTo = (wanted: unknown, value: Tree): Truth => {
  if (typeof value !== 'string') return false
  const found: unknown = JSON.parse(value)
  if (typeof found === typeof wanted && (found === null) === (wanted === null))
    return found === wanted || (found === 0 && wanted === 0)
  return String(found) === String(wanted) ? 'unknown' : false
}

const matching = (glob: string, value: Tree): Truth => {
  if (!isText(value)) return 'unknown'
  const text = String(JSON.parse(value))
  if (glob.includes('/') && (text.split(/[/\\]/).includes('..') || [...text].some(letter => letter < ' ')))
    return 'unknown'
  const pattern = [...glob].map(sign =>
    sign === '*' ? '.*' : sign === '?' ? '.' : sign.replace(/[^\w]/, '\\$&'),
  )
  return new RegExp(`^${pattern.join('')}$`, 's').test(text)
}

const compare = (value: Tree, fits: (found: number) => boolean): Truth =>
  !isNumber(value) || value.length > 100 ? 'unknown' : fits(Number(value))

const passes = (tests: Tests, value: Tree): Truth => {
  const { above, below, equals, oneOf, glob, present } = tests
  return all([
    ...(above === undefined ? [] : [compare(value, found => found > above)]),
    ...(below === undefined ? [] : [compare(value, found => found < below)]),
    ...('equals' in tests ? [equalTo(equals, value)] : []),
    ...(oneOf === undefined ? [] : [any(oneOf.map(each => equalTo(each, value)))]),
    ...(glob === undefined ? [] : [any([glob].flat().map(each => matching(each, value)))]),
    ...(present === undefined ? [] : [present]),
  ])
}

const matchesAt = (pointer: string, tests: Tests, args: Tree, isAllow: boolean): Truth => {
  const { values, absent, doubts } = placesAt(args, pointer.split('/').slice(1))
  const truths = [
    ...values.map(value => passes(tests, value)),
    ...Array<Truth>(absent).fill(tests.present === false),
    ...Array<Truth>(doubts).fill('unknown'),
  ]
  return isAllow && truths.length > 0 ? all(truths) : any(truths)
}

const model = (all_: readonly { when: Record<string, Tests>; then: string }[], args: Tree): string => {
  for (const { when, then } of all_) {
    const isAllow = then === 'allow'
    const truth = all(
      Object.entries(when).map(([pointer, tests]) => matchesAt(pointer, tests, args, isAllow)),
    )
    if (truth === true || (truth === 'unknown' && !isAllow)) return then
  }
  return 'allow'
}

void holds(
  t,
  'rules decide like a slow model, for arguments with repeated and escaped members',
  fc.property(rules, fc.array(fc.tuple(fc.constantFrom(...KEYS), tree), { maxLength: 4 }), (all_, object) => {
    const args = { object }
    const { verdict } = ruleTool(rulesOf(all_), 'x', textOfTree(args))
    const expected = model(all_, args)
    if (verdict !== expected)
      throw new Error(`${JSON.stringify(all_)} ${textOfTree(args)}: ${verdict}, not ${expected}`)
  }),
  runs(3000).numRuns,
)
