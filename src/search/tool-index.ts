import { isObject } from '../kernel/object.js'
import { searchWords } from './words.js'

/** The searchable properties of a tool. */
export interface SearchedTool {
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  /** The parsed `inputSchema`. */
  readonly schema: unknown
}

/** Weight of a field, its length normalization (b), and its usual length in words. */
interface Field {
  readonly weight: number
  readonly b: number
  readonly usual: number
}

const FIELDS = {
  name: { weight: 5, b: 0.7, usual: 3 },
  title: { weight: 2, b: 0.3, usual: 3 },
  server: { weight: 1.5, b: 0, usual: 1 },
  sentence: { weight: 1.5, b: 0.6, usual: 9 },
  description: { weight: 0.5, b: 0.75, usual: 25 },
  arguments: { weight: 0.5, b: 0.75, usual: 8 },
  choices: { weight: 0.5, b: 0.75, usual: 8 },
  explained: { weight: 0.25, b: 0.75, usual: 30 },
} as const satisfies Record<string, Field>

/** Maximum depth of indexed arguments. */
const DEPTH = 3
/** Maximum number of indexed arguments of a tool. */
const ARGUMENTS_MAX = 100
/** Maximum number of indexed enum values of an argument. */
const CHOICES_MAX = 40
const CHOICE_CHARS = 64
/** Maximum number of indexed characters of a text; peers wrote it. */
const TEXT_CHARS = 1500

/** The tools with a word, and its weight in each. */
interface Posting {
  readonly tools: Uint32Array
  readonly weights: Float32Array
}

/** Indexes the words of one server's tools. Built once per list, independent of other servers. */
export class ToolIndex {
  readonly size: number
  readonly #places: ReadonlyMap<string, number>
  /** Start of each word's tools in the arrays below; the next start ends them. */
  readonly #begins: Uint32Array
  readonly #tools: Uint32Array
  readonly #weights: Float32Array

  /** `about` describes the server as a whole, such as its name and tags. */
  constructor(tools: readonly SearchedTool[], about: string) {
    this.size = tools.length
    const found = new FoundWords()
    const server = searchWords(about)
    for (const tool of tools) found.add(fieldsOf(tool, server))
    this.#places = found.places
    this.#begins = new Uint32Array(found.places.size + 1)
    this.#tools = new Uint32Array(found.all.length)
    this.#weights = new Float32Array(found.all.length)
    // Two shared arrays: most words occur in so few tools that arrays per word would be mostly overhead.
    for (const place of found.all) this.#begins[place + 1] = (this.#begins[place + 1] ?? 0) + 1
    for (let place = 1; place < this.#begins.length; place++)
      this.#begins[place] = (this.#begins[place] ?? 0) + (this.#begins[place - 1] ?? 0)
    const next = this.#begins.slice()
    for (const [at, place] of found.all.entries()) {
      const to = next[place] ?? 0
      this.#tools[to] = found.tools[at] ?? 0
      this.#weights[to] = found.weights[at] ?? 0
      next[place] = to + 1
    }
  }

  /** Returns the tools with a word, given as `wordsOf` returns it. */
  posting(word: string): Posting | undefined {
    const place = this.#places.get(word)
    if (place === undefined) return undefined
    const [begin, end] = [this.#begins[place], this.#begins[place + 1]]
    return { tools: this.#tools.subarray(begin, end), weights: this.#weights.subarray(begin, end) }
  }
}

/** Collects words tool by tool. */
class FoundWords {
  readonly places = new Map<string, number>()
  /** One entry per word and tool: the index of the word, the number of the tool, and the weight. */
  readonly all: number[] = []
  readonly tools: number[] = []
  readonly weights: number[] = []
  /** The last entry of each word. */
  readonly #last: number[] = []
  #count = 0

  /** Adds the fields of the next tool. */
  add(fields: readonly Found[]): void {
    const first = this.all.length
    for (const {
      words,
      field: { weight, b, usual },
    } of fields) {
      const share = weight / (1 - b + (b * words.length) / usual)
      for (const word of words) {
        let place = this.places.get(word)
        if (place === undefined) {
          place = this.places.size
          this.places.set(word, place)
          this.#last.push(-1)
        }
        const last = this.#last[place] ?? -1
        if (last >= first) this.weights[last] = (this.weights[last] ?? 0) + share
        else {
          this.#last[place] = this.all.push(place) - 1
          this.tools.push(this.#count)
          this.weights.push(share)
        }
      }
    }
    this.#count += 1
  }
}

interface Found {
  readonly words: readonly string[]
  readonly field: Field
}

const fieldsOf = (tool: SearchedTool, server: readonly string[]): readonly Found[] => {
  const [sentence, rest] = sentencesOf((tool.description ?? '').slice(0, TEXT_CHARS))
  const args = argumentsOf(tool.schema)
  return [
    { words: searchWords(tool.name.slice(0, TEXT_CHARS)), field: FIELDS.name },
    { words: searchWords((tool.title ?? '').slice(0, TEXT_CHARS)), field: FIELDS.title },
    { words: server, field: FIELDS.server },
    { words: searchWords(sentence), field: FIELDS.sentence },
    { words: searchWords(rest), field: FIELDS.description },
    { words: searchWords(args.names.join(' ')), field: FIELDS.arguments },
    // A tool with many functions often describes them only by the values of its `action`.
    { words: searchWords(args.choices.join(' ')), field: FIELDS.choices },
    { words: searchWords(args.texts.join(' ')), field: FIELDS.explained },
  ]
}

const sentencesOf = (text: string): readonly [first: string, rest: string] => {
  const end = /[.!?](?=\s|$)|\n/.exec(text)
  return end === null ? [text, ''] : [text.slice(0, end.index), text.slice(end.index)]
}

const argumentsOf = (schema: unknown) => {
  const names: string[] = []
  const texts: string[] = []
  const choices: string[] = []
  let chars = 0
  const visit = (value: unknown, depth: number): void => {
    if (!isObject(value) || depth > DEPTH) return
    const { properties, items } = value as { readonly properties?: unknown; readonly items?: unknown }
    visit(items, depth + 1)
    if (!isObject(properties)) return
    for (const [name, inner] of Object.entries(properties)) {
      if (names.length >= ARGUMENTS_MAX) return
      names.push(name.slice(0, TEXT_CHARS))
      const text = isObject(inner) ? inner['description'] : undefined
      if (typeof text === 'string' && chars < TEXT_CHARS) {
        texts.push(text.slice(0, TEXT_CHARS - chars))
        chars += text.length
      }
      choices.push(...choicesOf(inner))
      visit(inner, depth + 1)
    }
  }
  choices.push(...choicesOf(schema))
  visit(schema, 1)
  return { names, texts, choices }
}

const choicesOf = (schema: unknown): readonly string[] => {
  const values = isObject(schema) ? schema['enum'] : undefined
  if (!Array.isArray(values)) return []
  return values
    .slice(0, CHOICES_MAX)
    .flatMap((value: unknown) => (typeof value === 'string' ? value.slice(0, CHOICE_CHARS) : []))
}
