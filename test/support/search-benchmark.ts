import { readFileSync } from 'node:fs'
import { ToolRanking } from '../../src/catalog/search/rank.js'
import { ToolIndex } from '../../src/catalog/search/tool-index.js'

interface BenchTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly arguments: readonly string[]
  /** The values that its arguments name to choose among. */
  readonly choices?: readonly string[]
}

interface BenchServer {
  readonly name: string
  readonly tools: readonly BenchTool[]
}

export interface Intent {
  /** Those that fit, each as `server/tool`. */
  readonly tools: readonly string[]
  /** As models ask. */
  readonly model: string
  /** In everyday words. */
  readonly plain: string
  /** Four other wordings. */
  readonly also: readonly string[]
  /** Not to be tuned for. */
  readonly heldOut?: boolean
}

/** How intents are asked; `short` asks with each of the other wordings alone. */
export type Wording = 'model' | 'plain' | 'short'

/** The shares of questions for which the first tool found fits, and one of five. */
export interface Recall {
  readonly first: number
  readonly five: number
}

/** The tools and questions of `bench/search`, whose address is `folder`, and how they are found. */
export class SearchBenchmark {
  readonly intents: readonly Intent[]
  /** Of all tools, each as `server/tool`. */
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

  /** Lists of so many tools, by 40 servers: the tools there are, again and again. */
  lists(count: number): readonly BenchServer[] {
    return Array.from({ length: 40 }, (_, server) => {
      const tools = Array.from({ length: count / 40 }, (_, at) => {
        const { tools } = this.#servers[at % this.#servers.length] ?? { tools: [] }
        return tools[at % tools.length]
      })
      return { name: `server${server}`, tools: tools.flatMap(tool => tool ?? []) }
    })
  }

  /** Asks everything of other indexes, with all other wordings or with none. */
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
