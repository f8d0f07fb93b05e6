import { isDeepStrictEqual } from 'node:util'

// Translation vectors: what must go over each hop when a client of one revision talks to a server of another.
// Each line of
// test/vectors/*.jsonl is one of
//
//   {"t":rule,"c":client's revision,"s":server's revision,"note"?,"steps":[[direction,message],…]}
//   {"t":rule,"check":what a test of another kind must show}
//
// R1 to R5 are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28. Directions are "c>p", "p>c",
// "p>s", "s>p", with
// "!" behind for a message that is wrong on purpose and ":a" behind for the server of that alias. Left out
// are "jsonrpc",
// and whatever the rule is not about: handshakes, the request of an answer that has its method beside it as
// "m", lists. "#1"
// is an id or token of the proxy, "~1" a text that it sealed: the same label, the same value.
// {"$E":capabilities} in a _meta is
// the envelope of 2026-07-28 with them. {"http":…,"h":…,"body":…} is an HTTP request or answer with its
// headers,
// {"event":…,"body":…} an event of such an answer.

/** A JSON object of which nothing is known yet. */
export type Json = Readonly<Record<string, unknown>>

/** A step of a vector that went otherwise. */
export class Mismatch extends Error {}

/** Members that may be there beside what a vector says: who answered, and traces. */
const EXTRAS = new Set(['io.modelcontextprotocol/serverInfo', 'traceparent', 'tracestate', 'baggage'])
/** What an error of ours says beside what a vector says of it. */
const REASONS = new Set(['server', 'reason', 'errorId'])
/** Members and headers whose value may be a label, in lower case. */
const LABELLED = new Set([
  'id',
  'requestid',
  'progresstoken',
  'elicitationid',
  'mcp-session-id',
  'requeststate',
  'io.modelcontextprotocol/subscriptionid',
])
const LABEL = /^[#~][a-z]*\d*$/
/** What the proxy seals says nothing but which key it is sealed with. */
const SEALED = /^v1\.[\w-]+\.[\w-]+$/

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether the value of a member stands for one that the proxy chooses. */
export const isLabel = (key: string, value: unknown): value is string =>
  LABELLED.has(key.toLowerCase()) && typeof value === 'string' && LABEL.test(value)

/** What the labels of one vector stand for. */
export class Labels {
  readonly #values = new Map<string, unknown>()
  readonly #wording: Readonly<Record<string, string>>

  /** With texts that are worded otherwise here than in the vectors. */
  constructor(wording: Readonly<Record<string, string>>) {
    this.#wording = wording
  }

  has(label: string): boolean {
    return this.#values.has(label)
  }

  bind(label: string, value: unknown): void {
    this.#values.set(label, value)
  }

  /** A message with the values of its labels. */
  fill(value: unknown, key = ''): unknown {
    if (isLabel(key, value)) {
      if (!this.has(value)) throw new Mismatch(`nobody knows yet what ${value} is`)
      return this.#values.get(value)
    }
    if (Array.isArray(value)) return value.map(item => this.fill(item))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.fill(item, name)]))
  }

  /**
   * Throws a Mismatch that says where a message is not as the vector has it; labels are bound on first use.
   */
  match(expected: unknown, actual: unknown, at: readonly string[] = []): void {
    const key = at.at(-1) ?? ''
    const comparable = COMPARABLE[key]
    if (comparable !== undefined && isDeepStrictEqual(comparable(expected), comparable(actual))) return
    if (isLabel(key, expected)) this.#label(expected, actual, at)
    else if (Array.isArray(expected)) this.#array(expected, actual, at)
    else if (isObject(expected)) this.#object(expected, actual, at)
    else if (key === 'message' && at.at(-2) === 'error') contains(this.#worded(expected), actual, at)
    else if (!isDeepStrictEqual(this.#worded(expected), actual)) throw differ(expected, actual, at)
  }

  #worded(expected: unknown): unknown {
    return (typeof expected === 'string' ? this.#wording[expected] : undefined) ?? expected
  }

  #label(label: string, actual: unknown, at: readonly string[]): void {
    if (actual === undefined) throw differ(label, actual, at)
    if (label.startsWith('~') && at.at(-1) === 'requestState' && !SEALED.test(String(actual)))
      throw differ('a sealed text', actual, at)
    if (!this.has(label)) this.bind(label, actual)
    else if (!isDeepStrictEqual(this.#values.get(label), actual)) {
      throw differ(`${label} = ${JSON.stringify(this.#values.get(label))}`, actual, at)
    }
  }

  #array(expected: readonly unknown[], actual: unknown, at: readonly string[]): void {
    if (!Array.isArray(actual) || actual.length !== expected.length) throw differ(expected, actual, at)
    for (const [index, item] of expected.entries()) this.match(item, actual[index], [...at, String(index)])
  }

  #object(expected: Json, actual: unknown, at: readonly string[]): void {
    if (!isObject(actual)) throw differ(expected, actual, at)
    const isIdentity = expected['name'] === 'proxy'
    for (const [name, value] of Object.entries(actual)) {
      if (name in expected || (isIdentity && name === 'title')) continue
      // By which a client can ask why.
      if (name === 'errorId' && at.at(-1) === 'data') continue
      const allowed =
        name === '_meta' ? EXTRAS : name === 'data' && at.at(-1) === 'error' ? REASONS : undefined
      const isExtra = isObject(value) && Object.keys(value).every(one => allowed?.has(one))
      if (!isExtra && !(at.at(-1) === '_meta' && EXTRAS.has(name)))
        throw differ(undefined, value, [...at, name])
    }
    for (const [name, value] of Object.entries(expected)) {
      if (name !== 'm' || at.length > 0) this.match(value, actual[name], [...at, name])
    }
  }
}

/** Members that are as the vector has them if these parts of them are. */
const COMPARABLE: Readonly<Record<string, (value: unknown) => unknown>> = {
  // In an envelope the proxy names itself or its client: what counts is that it names somebody.
  'io.modelcontextprotocol/clientInfo': value =>
    isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string',
  // A trace goes on; the step in it is ours.
  traceparent: value => String(value).replace(/^(00-\w{32})-\w{16}-/, '$1-'),
}

/** Our words may say more than the vector: who and why. */
const contains = (expected: unknown, actual: unknown, at: readonly string[]): void => {
  if (typeof actual !== 'string' || !actual.includes(String(expected))) throw differ(expected, actual, at)
}

const differ = (expected: unknown, actual: unknown, at: readonly string[]): Mismatch => {
  const place = at.length === 0 ? 'message' : at.join('.')
  return new Mismatch(`${place}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
}
