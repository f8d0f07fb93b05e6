// Says how well tools are found, and what that costs. Reports, and never fails.
//   node bench/search/run.js
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const here = new URL('.', import.meta.url)
const read = name => JSON.parse(readFileSync(new URL(name, here), 'utf8'))
const servers = read('tools.json')
const questions = read('questions.json')
const names = servers.flatMap(server => server.tools.map(tool => `${server.name}/${tool.name}`))

const load = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-proxy-search-'))
  const outfile = join(folder, 'search.mjs')
  const search = new URL('../../src/catalog/search/', here).pathname
  const contents = `export * from '${search}rank.ts'; export * from '${search}tool-index.ts'`
  await build({ stdin: { contents, resolveDir: folder }, bundle: true, format: 'esm', outfile })
  const loaded = await import(pathToFileURL(outfile).href)
  await rm(folder, { recursive: true })
  return loaded
}

const { ToolIndex, ToolRanking } = await load()

const indexOf = (tools, about) =>
  new ToolIndex(
    tools.map(({ name, title, description, arguments: given }) => ({
      name,
      title,
      description,
      schema: { properties: Object.fromEntries(given.map(argument => [argument, {}])) },
    })),
    about,
  )

const ranking = new ToolRanking(
  servers.map(({ name, tools }) => indexOf(tools, name)),
  tool => names[tool],
)

const recallOf = (asked, kind, withAlso) => {
  const places = asked.map(question => {
    const also = withAlso ? question.also : []
    const found = ranking.find({ query: question[kind], also, limit: 5 })
    return found.findIndex(tool => question.tools.includes(names[tool]))
  })
  const share = test => (places.filter(test).length / places.length).toFixed(3)
  return `recall@1 ${share(place => place === 0)}, recall@5 ${share(place => place >= 0)}`
}

for (const [which, asked] of [
  ['all', questions],
  ['held out', questions.filter(({ heldOut }) => heldOut)],
]) {
  for (const kind of ['model', 'plain']) {
    console.log(`${which}, ${kind}: ${recallOf(asked, kind, false)}`)
    console.log(`${which}, ${kind}, with other wordings: ${recallOf(asked, kind, true)}`)
  }
}

const many = (count, about) =>
  indexOf(
    Array.from({ length: count }, (_, at) => {
      const { tools } = servers[at % servers.length]
      return tools[at % tools.length]
    }),
    about,
  )

/** Of the processor, which other programs do not slow down. */
const timed = act => {
  const before = process.cpuUsage()
  const value = act()
  return { value, ms: process.cpuUsage(before).user / 1000 }
}

for (const count of [1000, 10_000]) {
  globalThis.gc?.()
  const before = process.memoryUsage()
  const { value, ms } = timed(() => Array.from({ length: 40 }, (_, at) => many(count / 40, `server${at}`)))
  globalThis.gc?.()
  const after = process.memoryUsage()
  const kept = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  const large = new ToolRanking(value, String)
  const ask = () => {
    for (const { plain, also } of questions) large.find({ query: plain, also, limit: 5 })
  }
  ask()
  const perQuery = timed(ask).ms / questions.length
  const memory = globalThis.gc === undefined ? '' : `, ${(kept / 2 ** 20).toFixed(1)} MiB`
  console.log(
    `${count} tools: index ${ms.toFixed(0)} ms${memory}; a query with four other wordings ${perQuery.toFixed(2)} ms`,
  )
}
