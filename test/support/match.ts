import { isDeepStrictEqual } from 'node:util'

// Translation vectors: the required messages on each hop between a client of one revision and a server of
// another. Each line of test/vectors/*.jsonl has one of these forms:
//
//   {"t":rule,"c":client's revision,"s":server's revision,"note"?,"steps":[[direction,message],…]}
//   {"t":rule,"check":requirement that a test of another kind covers}
//
// With "rules":the rules of the configuration, a step ["page",{"isAllowed":true}] decides about a call.
//
// R1 to R5 are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28. Directions are "c>p", "p>c",
// "p>s" and "s>p". The suffix "!" marks an intentionally invalid message, ":a" the server with that alias.
// Vectors omit "jsonrpc" and everything unrelated to the rule: handshakes, lists, and the request of an
// answer that names its method in "m". "#1" is an id or token of the proxy, "~1" a text that it sealed;
// equal labels mean equal values. {"$E":capabilities} in a _meta is the envelope of 2026-07-28 with these
// capabilities. {"http":…,"h":…,"body":…} is an HTTP request or response with its headers,
// {"event":…,"body":…} an event of such a response.

/** A JSON object with unknown members. */
export type Json = Readonly<Record<string, unknown>>

/** A vector step with a different outcome. */
export class Mismatch extends Error {}

/** Members allowed in addition to a vector: server info and traces. */
const EXTRAS = new Set(['io.modelcontextprotocol/serverInfo', 'traceparent', 'tracestate', 'baggage'])
/** Error members that we add to a vector's members. */
const REASONS = new Set(['server', 'reason', 'errorId'])
/** Members and headers whose value may be a label, in lower case. */
const LABELLED = new Set([
  'id',
  'requestid',
  'progresstoken',
  'elicitationid',
  'mcp-session-id',
  'requeststate',
  'taskid',
  'taskids',
  'mcp-name',
  'io.modelcontextprotocol/subscriptionid',
  // The text of a question of our own, which has a time, and what names it.
  ...['message', 'text', 'url', 'errorid', 'expiresat'],
])
const LABEL = /^[#~][a-z]*\d*$/
/** A sealed text is opaque except for its key; the id of a task is marked as one. */
const SEALED: Readonly<Record<string, RegExp>> = {
  requestState: /^v1\.[\w-]+\.[\w-]+$/,
  taskId: /^t1\.v1\.[\w-]+\.[\w-]+$/,
}

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns whether a value is a label for a value that the proxy chooses. */
export const isLabel = (key: string, value: unknown): value is string =>
  LABELLED.has(key.toLowerCase()) && typeof value === 'string' && LABEL.test(value)

/** The label values of one vector. */
export class Labels {
  readonly #values = new Map<string, unknown>()
  readonly #wording: Readonly<Record<string, string>>

  /** `wording` maps messages of the vectors to our messages. */
  constructor(wording: Readonly<Record<string, string>>) {
    this.#wording = wording
  }

  has(label: string): boolean {
    return this.#values.has(label)
  }

  bind(label: string, value: unknown): void {
    this.#values.set(label, value)
  }

  /** Returns a message with labels replaced by their values. */
  fill(value: unknown, key = ''): unknown {
    if (isLabel(key, value)) {
      if (!this.has(value)) throw new Mismatch(`nobody knows yet what ${value} is`)
      return this.#values.get(value)
    }
    if (Array.isArray(value)) return value.map(item => this.fill(item, key))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.fill(item, name)]))
  }

  /** Throws a Mismatch with the place where a message differs from the vector; binds labels on first use. */
  match(expected: unknown, actual: unknown, at: readonly string[] = []): void {
    // The items of a list are called like the list.
    const key = at.findLast(name => !/^\d+$/.test(name)) ?? ''
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
    if (label.startsWith('~') && SEALED[at.at(-1) ?? '']?.test(String(actual)) === false)
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
      // Clients can ask for the reason with this id.
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

/** Members that match if these parts of them match. */
const COMPARABLE: Readonly<Record<string, (value: unknown) => unknown>> = {
  // In an envelope, the proxy names itself or its client: any name is valid.
  'io.modelcontextprotocol/clientInfo': value =>
    isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string',
  // The trace continues with our own span.
  traceparent: value => String(value).replace(/^(00-\w{32})-\w{16}-/, '$1-'),
}

/** Our messages may contain more than the vector's, such as the server and reason. */
const contains = (expected: unknown, actual: unknown, at: readonly string[]): void => {
  if (typeof actual !== 'string' || !actual.includes(String(expected))) throw differ(expected, actual, at)
}

const differ = (expected: unknown, actual: unknown, at: readonly string[]): Mismatch => {
  const place = at.length === 0 ? 'message' : at.join('.')
  return new Mismatch(`${place}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
}
