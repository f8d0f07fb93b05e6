import { readFileSync } from 'node:fs'
import t from 'tap'
import { ToolRanking } from '../../../src/catalog/search/rank.js'
import { ToolIndex } from '../../../src/catalog/search/tool-index.js'

interface BenchServer {
  readonly name: string
  readonly tools: readonly {
    readonly name: string
    readonly title?: string
    readonly description: string
    readonly arguments: readonly string[]
  }[]
}

interface Intent {
  readonly tools: readonly string[]
  readonly model: string
  readonly plain: string
  readonly also: readonly string[]
  readonly heldOut?: boolean
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../bench/search/${name}`, import.meta.url), 'utf8'))

const servers = read('tools.json') as readonly BenchServer[]
const intents = read('questions.json') as readonly Intent[]
const names = servers.flatMap(({ name, tools }) => tools.map(tool => `${name}/${tool.name}`))
const ranking = new ToolRanking(
  servers.map(
    ({ name: server, tools }) =>
      new ToolIndex(
        tools.map(({ name, title, description, arguments: given }) => ({
          name,
          title,
          description,
          schema: { properties: Object.fromEntries(given.map(argument => [argument, {}])) },
        })),
        server,
      ),
  ),
  tool => names[tool] ?? '',
)

const recall = (asked: readonly Intent[], kind: 'model' | 'plain', withAlso: boolean) => {
  const places = asked.map(intent => {
    const found = ranking.find({ query: intent[kind], also: withAlso ? intent.also : [], limit: 5 })
    return found.findIndex(tool => intent.tools.includes(names[tool] ?? ''))
  })
  const share = (test: (place: number) => boolean): number => places.filter(test).length / places.length
  return { first: share(place => place === 0), five: share(place => place >= 0) }
}

// What is there is 0.02 better at least.
const FLOORS = [
  { kind: 'model', withAlso: false, first: 0.91, five: 0.97 },
  { kind: 'model', withAlso: true, first: 0.91, five: 0.98 },
  { kind: 'plain', withAlso: false, first: 0.13, five: 0.34 },
  { kind: 'plain', withAlso: true, first: 0.68, five: 0.92 },
] as const

for (const { kind, withAlso, first, five } of FLOORS) {
  t.test(`tools are found by ${kind} questions${withAlso ? ' with other wordings' : ''}`, t => {
    const found = recall(intents, kind, withAlso)
    t.ok(found.first >= first, `recall@1 ${found.first.toFixed(3)}`)
    t.ok(found.five >= five, `recall@5 ${found.five.toFixed(3)}`)
    t.end()
  })
}

t.test('exact questions are answered no worse with other wordings, also those not tuned for', t => {
  for (const asked of [intents, intents.filter(({ heldOut }) => heldOut === true)])
    t.ok(recall(asked, 'model', true).first >= recall(asked, 'model', false).first)
  t.end()
})

t.test('the benchmark has its questions, a part of them held out, and each names tools that are there', t => {
  t.ok(2 * intents.length >= 160)
  t.ok(intents.filter(({ heldOut }) => heldOut === true).length >= intents.length / 4)
  const known = new Set(names)
  t.strictSame(
    intents.flatMap(({ tools }) => tools.filter(tool => !known.has(tool))),
    [],
  )
  t.end()
})
