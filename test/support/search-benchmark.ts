import { readFileSync } from 'node:fs'
import { ToolRanking } from '../../src/search/rank.js'
import { ToolIndex } from '../../src/search/tool-index.js'

interface BenchTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly arguments: readonly string[]
  /** Enum values of its arguments. */
  readonly choices?: readonly string[]
}

interface BenchServer {
  readonly name: string
  readonly tools: readonly BenchTool[]
}

export interface Intent {
  /** Matching tools, each as `server/tool`. */
  readonly tools: readonly string[]
  /** The question as models ask it. */
  readonly model: string
  /** The question in everyday language. */
  readonly plain: string
  /** Four other wordings. */
  readonly also: readonly string[]
  /** Excluded from tuning. */
  readonly heldOut?: boolean
}

/** The wording of questions; `short` asks with each of the other wordings alone. */
export type Wording = 'model' | 'plain' | 'short'

/** Shares of questions with a matching tool first, and among the first five. */
export interface Recall {
  readonly first: number
  readonly five: number
}

/** The tools and questions of `bench/search` at `folder`, and the search under test. */
export class SearchBenchmark {
  readonly intents: readonly Intent[]
  /** Names of all tools, each as `server/tool`. */
  readonly names: readonly string[]
  readonly #servers: readonly BenchServer[]
  readonly #ranking: ToolRanking

  constructor(folder: URL) {
    const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'))
    this.#servers = read('tools.json') as readonly BenchServer[]
    this.intents = read('questions.json') as readonly Intent[]
    this.names = this.#servers.flatMap(({ name, tools }) => tools.map(tool => `${name}/${tool.name}`))
    this.#ranking = new ToolRanking(indexesOf(this.#servers), tool => this.names[tool] ?? '')
  }

  recall(asked: readonly Intent[], wording: Wording, withAlso: boolean): Recall {
    const places = asked.flatMap(({ also, tools, ...said }) => {
      const queries = wording === 'short' ? also : [said[wording]]
      return queries.map(query => {
        const found = this.#ranking.find({ query, also: withAlso ? also : [], limit: 5 })
        return found.findIndex(tool => tools.includes(this.names[tool] ?? ''))
      })
    })
    const share = (test: (place: number) => boolean): number => places.filter(test).length / places.length
    return { first: share(place => place === 0), five: share(place => place >= 0) }
  }

  /** Returns lists with this number of tools from 40 servers, repeating the existing tools. */
  lists(count: number): readonly BenchServer[] {
    return Array.from({ length: 40 }, (_, server) => {
      const tools = Array.from({ length: count / 40 }, (_, at) => {
        const { tools } = this.#servers[at % this.#servers.length] ?? { tools: [] }
        return tools[at % tools.length]
      })
      return { name: `server${server}`, tools: tools.flatMap(tool => tool ?? []) }
    })
  }

  /** Asks all questions of other indexes, with all other wordings or with none. */
  askAll(indexes: readonly ToolIndex[], withAlso: boolean): void {
    const ranking = new ToolRanking(indexes, String)
    for (const { plain, also } of this.intents)
      ranking.find({ query: plain, also: withAlso ? also : [], limit: 5 })
  }
}

export const indexesOf = (lists: readonly BenchServer[]): readonly ToolIndex[] =>
  lists.map(({ name, tools }) => indexOf(tools, name))

const indexOf = (tools: readonly BenchTool[], about: string): ToolIndex =>
  new ToolIndex(
    tools.map(({ name, title, description, arguments: given, choices = [] }) => ({
      name,
      title,
      description,
      schema: {
        enum: choices,
        properties: Object.fromEntries(given.map(argument => [argument, {}])),
      },
    })),
    about,
  )
