// Reports the quality and the cost of tool search. Never fails.
// Usage: node --expose-gc bench/search/run.js
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const load = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-proxy-search-'))
  const outfile = join(folder, 'benchmark.mjs')
  const entry = fileURLToPath(new URL('../../test/support/search-benchmark.ts', import.meta.url))
  await build({ entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', outfile })
  const loaded = await import(pathToFileURL(outfile).href)
  await rm(folder, { recursive: true })
  return loaded
}

const { SearchBenchmark, indexesOf } = await load()
const benchmark = new SearchBenchmark(new URL('.', import.meta.url))
const { intents } = benchmark

for (const [which, asked] of [
  ['all', intents],
  ['tuned for', intents.filter(({ heldOut }) => heldOut !== true)],
  ['held out', intents.filter(({ heldOut }) => heldOut === true)],
]) {
  for (const wording of ['model', 'plain', 'short']) {
    for (const withAlso of wording === 'short' ? [false] : [false, true]) {
      const { first, five } = benchmark.recall(asked, wording, withAlso)
      const how = `${which} (${asked.length}), ${wording}${withAlso ? ' with other wordings' : ''}`
      console.log(`${how}: recall@1 ${first.toFixed(3)}, recall@5 ${five.toFixed(3)}`)
    }
  }
}

/** Measures CPU time, which other programs do not affect. */
const timed = act => {
  const before = process.cpuUsage()
  const value = act()
  return { value, ms: process.cpuUsage(before).user / 1000 }
}

for (const count of [1000, 10_000]) {
  const text = JSON.stringify(benchmark.lists(count))
  const { value: lists, ms: floorMs } = timed(() => JSON.parse(text))
  globalThis.gc?.()
  const before = process.memoryUsage()
  const { value: indexes, ms } = timed(() => indexesOf(lists))
  globalThis.gc?.()
  const after = process.memoryUsage()
  const kept = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  const memory = globalThis.gc === undefined ? '' : `, ${(kept / 2 ** 20).toFixed(1)} MiB`
  const [alone, among] = [false, true].map(withAlso => {
    const { ms } = timed(() => benchmark.askAll(indexes, withAlso))
    return (ms / intents.length).toFixed(2)
  })
  console.log(
    `${count} tools: index ${ms.toFixed(0)} ms (parsing the lists ${floorMs.toFixed(1)} ms)${memory}; a query ${alone} ms, with other wordings ${among} ms`,
  )
}
