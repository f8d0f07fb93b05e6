import { textMatcherOf } from './globs.js'
import { canonicalJson, compareDecimals } from './json/canonical.js'
import { type JsonText, kindOf, rawText, smallInteger, stringOf } from './json/text.js'
import type { WhenTests } from './rule.js'

/** The values at a pointer. */
export interface PointerValues {
  readonly values: readonly JsonText[]
  /** True if the pointer leads nowhere, in at least one of the places that a `*` covers. */
  readonly isAbsent: boolean
  /**
   * True if there may be other values: a member is repeated, so that the server may read either, a `*` covers
   * too many, or stands below a scalar.
   */
  readonly isDoubtful: boolean
}

/** Whether a test holds; undefined if that is not known, because the server may read something else. */
export type Truth = boolean | undefined

/** Maximum length of a number that is compared, in characters. */
const NUMBER_CHARS = 100
/** Maximum size of a text that is matched. */
const TEXT_BYTES = 64 * 1024
/** No spelling of a character in JSON is longer. */
const ESCAPED_BYTES = 6
/** Texts that a server may read as another path. */
const ODD_PATH = /(?:^|[/\\])\.\.(?:[/\\]|$)|[^ -\u{10ffff}]/u

type Check = (value: JsonText) => Truth

interface Test {
  readonly check: Check
  /** Words for a test that holds, fails, or is unknown. */
  readonly words: readonly [holds: string, fails: string, isUnknown: string]
}

/** All tests, by their keys. */
const TESTS: { readonly [Key in keyof WhenTests]-?: (wanted: NonNullable<WhenTests[Key]>) => Test } = {
  equals: wanted => ({
    check: equalToAny([wanted]),
    words: [`equals ${wanted}`, `does not equal ${wanted}`, `may equal ${wanted}`],
  }),
  oneOf: wanted => ({ check: equalToAny(wanted), words: wordsOf(`one of ${wanted.join(', ')}`) }),
  glob: globs => {
    const shown = globs.map(glob => JSON.stringify(glob)).join(' or ')
    return {
      check: matchesAny(globs),
      words: [`matches ${shown}`, `does not match ${shown}`, `may match ${shown}`],
    }
  },
  above: bound => ({ check: compared(bound, order => order > 0), words: wordsOf(`above ${bound}`) }),
  below: bound => ({ check: compared(bound, order => order < 0), words: wordsOf(`below ${bound}`) }),
  present: isWanted => ({
    check: () => isWanted,
    words: isWanted
      ? ['is present', 'is absent', 'may be present']
      : ['is absent', 'is present', 'may be absent'],
  }),
}

const wordsOf = (what: string): Test['words'] => [`is ${what}`, `is not ${what}`, `may be ${what}`]

/** A test in words, and whether it holds. */
export interface TestResult {
  readonly test: string
  readonly holds: Truth
}

/** The compiled tests of one pointer. */
export class PointerTests {
  readonly #tests: readonly Test[]
  readonly #holdsIfAbsent: boolean

  constructor(wanted: WhenTests) {
    this.#holdsIfAbsent = wanted.present === false
    this.#tests = Object.entries(wanted).flatMap(([key, value]: [string, unknown]) =>
      value === undefined ? [] : [(TESTS[key as keyof WhenTests] as (wanted: unknown) => Test)(value)],
    )
  }

  /** What the tests demand, in words. */
  get words(): readonly string[] {
    return this.#tests.map(({ words: [holds] }) => holds)
  }

  /** Returns whether the values pass: one of them, or with `needsAll` all of them and at least one. */
  pass(found: PointerValues, needsAll: boolean): Truth {
    return this.#over(found, needsAll, value => every(this.#tests, ({ check }) => check(value)))
  }

  /** Returns the result of each test. */
  results(found: PointerValues, needsAll: boolean): readonly TestResult[] {
    return this.#tests.map(({ check, words: [holds, fails, isUnknown] }) => {
      const truth = this.#over(found, needsAll, check)
      return { test: truth === undefined ? isUnknown : truth ? holds : fails, holds: truth }
    })
  }

  #over({ values, isAbsent, isDoubtful }: PointerValues, needsAll: boolean, check: Check): Truth {
    if (values.length === 0) return isDoubtful ? undefined : isAbsent && this.#holdsIfAbsent
    if (needsAll && isAbsent) return false
    const truth = needsAll ? every(values, check) : some(values, check)
    return isDoubtful && truth === needsAll ? undefined : truth
  }
}

/** True if one is true, else undefined if one is unknown. */
const some = <T>(items: readonly T[], check: (item: T) => Truth): Truth => {
  let truth: Truth = false
  for (const item of items) {
    const one = check(item)
    if (one === true) return true
    if (one === undefined) truth = undefined
  }
  return truth
}

/** False if one is false, else undefined if one is unknown. */
export const every = <T>(items: readonly T[], check: (item: T) => Truth): Truth => {
  let truth: Truth = true
  for (const item of items) {
    const one = check(item)
    if (one === false) return false
    if (one === undefined) truth = undefined
  }
  return truth
}

const compared = (bound: string, fits: (order: number) => boolean): Check => {
  const small = smallInteger(rawText(bound))
  return value => {
    const found = small === undefined ? undefined : smallInteger(value)
    if (small !== undefined && found !== undefined) return fits(found - small)
    return kindOf(value) !== 'number' || value.length > NUMBER_CHARS
      ? undefined
      : fits(compareDecimals(value.toString('latin1'), bound))
  }
}

const matchesAny = (globs: readonly string[]): Check => {
  const patterns = globs.map(glob => ({ matches: textMatcherOf(glob), isPath: glob.includes('/') }))
  return value => {
    const text = value.length > ESCAPED_BYTES * TEXT_BYTES + 2 ? undefined : stringOf(value)
    if (text === undefined || Buffer.byteLength(text) > TEXT_BYTES) return undefined
    return some(patterns, ({ matches, isPath }) =>
      isPath && ODD_PATH.test(text) ? undefined : matches(text),
    )
  }
}

const isScalar = (value: JsonText): boolean => !['object', 'array'].includes(kindOf(value))

const equalToAny = (wanted: readonly string[]): Check => {
  const all = wanted.map(text => rawText(text))
  const containers = all.filter(each => !isScalar(each))
  const [scalars, texts] = [all.filter(isScalar), new Set(containers.map(canonicalJson))]
  const longest = Math.max(...containers.map(({ length }) => length))
  return value => {
    if (isScalar(value)) return some(scalars, each => isSameScalar(each, value))
    if (texts.size === 0) return false
    // Canonical JSON takes long.
    return value.length > TEXT_BYTES + ESCAPED_BYTES * longest ? undefined : texts.has(canonicalJson(value))
  }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Compares scalars; unknown if only their types differ, because servers convert them. */
const isSameScalar = (one: JsonText, other: JsonText): Truth => {
  const [a, b] = [one, other].map(value => stringOf(value) ?? value.toString('latin1')) as [string, string]
  const isSame = a === b || (NUMBER.test(a) && NUMBER.test(b) && compareDecimals(a, b) === 0)
  if (kindOf(one) === kindOf(other)) return kindOf(one) === 'string' ? a === b : isSame
  return isSame ? undefined : false
}
