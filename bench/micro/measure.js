// Shared code of the micro benchmarks: measures nanoseconds per repeated call.
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const own = fileURLToPath(new URL('../..', import.meta.url))
const checkout = resolve(process.argv[2] ?? own)

/** Imports a module of the checkout under test. */
export const built = async name => {
  const outfile = join(own, '.tap', 'micro', `${name}.mjs`)
  await build({
    entryPoints: [join(checkout, 'src', `${name}.ts`)],
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    outfile,
  })
  const module = await import(pathToFileURL(outfile).href)
  await rm(outfile)
  return module
}

const WARM_MS = 500

/** Returns the best of many rounds of about `roundMs`, because other programs share the processor. */
function measure(work, roundMs = 10) {
  let sink = 0
  const round = count => {
    const start = process.hrtime.bigint()
    for (let i = 0; i < count; i++) sink += work(i) === undefined ? 0 : 1
    return Number(process.hrtime.bigint() - start) / count
  }
  const warmUntil = performance.now() + WARM_MS
  while (performance.now() < warmUntil) round(16)
  let count = 1
  while (Math.min(round(count), round(count), round(count)) * count < roundMs * 1e6) count *= 2
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 50; i++) best = Math.min(best, round(count))
  return sink >= 0 ? best : 0
}

/** Prints one line; with `bytes`, also the throughput per second. */
export const show = (name, bytes, work) => {
  const ns = measure(work)
  const rate = bytes ? `${((bytes / ns) * 1000).toFixed(0).padStart(7)} MB/s` : ''
  console.log(`${name.padEnd(46)}${ns.toFixed(0).padStart(12)} ns/op ${rate}`)
}
