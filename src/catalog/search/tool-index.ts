import { isObject } from '../../kernel/object.js'
import { wordsOf } from './words.js'

/** What is known of a tool that can be found. */
export interface SearchedTool {
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  /** Its `inputSchema`, parsed. */
  readonly schema: unknown
}

/** Weight of a field, how much its length counts (b), and the length that is usual. */
interface Field {
  readonly weight: number
  readonly b: number
  readonly usual: number
}

const FIELDS = {
  name: { weight: 5, b: 0.3, usual: 3 },
  title: { weight: 2, b: 0.3, usual: 3 },
  server: { weight: 1.5, b: 0, usual: 1 },
  sentence: { weight: 1.5, b: 0.6, usual: 9 },
  description: { weight: 0.5, b: 0.75, usual: 25 },
  arguments: { weight: 0.5, b: 0.75, usual: 8 },
  choices: { weight: 0.5, b: 0.75, usual: 8 },
  explained: { weight: 0.25, b: 0.75, usual: 30 },
} as const satisfies Record<string, Field>

/** The deepest arguments that are read. */
const DEPTH = 3
/** The most arguments of a tool that are read. */
const ARGUMENTS_MAX = 100
/** The most values to choose among that are read of an argument. */
const CHOICES_MAX = 40
const CHOICE_CHARS = 64
/** The most characters of a text that are read: peers wrote it. */
const TEXT_CHARS = 1500

/** The tools of a server in which a word stands, and how much it counts in each. */
interface Posting {
  readonly tools: Uint32Array
  readonly weights: Float32Array
}

/** The words of one server's tools. Made once for a list; what other servers have does not matter to it. */
export class ToolIndex {
  readonly size: number
  readonly #postings: ReadonlyMap<string, Posting>

  /** `about`: words for the server as a whole, such as its name and tags. */
  constructor(tools: readonly SearchedTool[], about: string) {
    this.size = tools.length
    const found = new Map<string, [tools: number[], weights: number[]]>()
    const server = wordsOf(about)
    for (const [at, tool] of tools.entries()) {
      for (const [word, weight] of weightsOf(tool, server)) {
        const posting = found.get(word)
        if (posting === undefined) found.set(word, [[at], [weight]])
        else {
          posting[0].push(at)
          posting[1].push(weight)
        }
      }
    }
    this.#postings = new Map(
      [...found].map(([word, [at, weights]]) => [
        word,
        { tools: Uint32Array.from(at), weights: Float32Array.from(weights) },
      ]),
    )
  }

  /** Where a word, as `wordsOf` gives it, stands. */
  posting(word: string): Posting | undefined {
    return this.#postings.get(word)
  }
}

const weightsOf = (tool: SearchedTool, server: readonly string[]): ReadonlyMap<string, number> => {
  const weights = new Map<string, number>()
  const add = (words: readonly string[], { weight, b, usual }: Field): void => {
    const share = weight / (1 - b + (b * words.length) / usual)
    for (const word of words) weights.set(word, (weights.get(word) ?? 0) + share)
  }
  const [sentence, rest] = sentencesOf((tool.description ?? '').slice(0, TEXT_CHARS))
  const args = argumentsOf(tool.schema)
  add(wordsOf(tool.name.slice(0, TEXT_CHARS)), FIELDS.name)
  add(wordsOf((tool.title ?? '').slice(0, TEXT_CHARS)), FIELDS.title)
  add(server, FIELDS.server)
  add(wordsOf(sentence), FIELDS.sentence)
  add(wordsOf(rest), FIELDS.description)
  add(wordsOf(args.names.join(' ')), FIELDS.arguments)
  // What a tool for many things can do is often said by the values of its `action` alone.
  add(wordsOf(args.choices.join(' ')), FIELDS.choices)
  add(wordsOf(args.texts.join(' ')), FIELDS.explained)
  return weights
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
