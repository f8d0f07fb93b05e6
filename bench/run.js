// Compares mcp-proxy with the floor (bench/floor), and optionally with peers, in alternating slices. Reports
// only; never fails.
//   npm run bench                 two and a half minutes
//   npm run bench -- --full       everything, with peers
//   npm run bench -- --only TEXT  benchmarks with TEXT in their names, such as "http: 200 B", "start",
//                                 "memory", "auth", "shim", "flat", "growth", "stdio start", "first list",
//                                 "idle sessions", "in turn", "across eras", "sdk", "observability" or
//                                 "cluster" (needs redis-server); repeatable
//   --peers   with proxies from npm; --slices N; --slice-ms N; --json FILE
import { existsSync, writeFileSync } from 'node:fs'
import { runFacts, takeJsonFile } from '../test/run-facts.js'
import {
  measureFirstList,
  measureFlatness,
  measureIdleCrowd,
  measureMemory,
  measureStart,
  measureStdioStart,
} from './figures.js'
import { measureGrowth, tellLinearity } from './growth.js'
import { LoadProcess } from './load-process.js'
import { measure } from './measure.js'
import { isWanted, jsonFile, withPeers } from './options.js'
import { measurePairs } from './pairs.js'
import { kindOf, Processes, WARM_UP } from './participant.js'
import { describePeers, installPeers } from './peers.js'
import { endAll } from './programs.js'
import { heading, machine } from './report.js'
import { measureSdks } from './sdk.js'
import { measureShim } from './shim.js'
import { measureWatchedMemory } from './watching.js'
import { GROWTHS, WORKLOADS } from './workloads.js'

const say = text => console.log(text)

/** Runs a measurement; its failure does not affect the others. */
async function attempt(name, act) {
  try {
    await act()
  } catch (error) {
    say(`${name}: not measured: ${error.message}`)
  }
}

function introduce(peers) {
  const { node, platform, cpu, cpus } = machine()
  const { alone, together, inFlight, limitMs } = WARM_UP
  say(`${new Date().toISOString().slice(0, 10)}, Node ${node}, ${platform}, ${cpus} × ${cpu}`)
  if (peers.length > 0) say(`peers: ${describePeers(peers).join(', ')}`)
  say(
    `Before its first slice each process answers ${alone} calls one at a time and ${together} with ${inFlight} in flight, each for at most ${limitMs / 1000} s.\nRows that say "cold" are of processes that have answered nothing yet.`,
  )
  say(heading())
}

async function measureWorkloads(context) {
  const wanted = WORKLOADS.filter(({ front, name, isFull }) => isWanted(`${front}: ${name}`, isFull))
  for (const workload of wanted) {
    await context.processes.end(target => target.kind !== kindOf(workload))
    await attempt(`${workload.front}: ${workload.name}`, () => measure(workload, context))
  }
  await context.processes.end()
  tellLinearity(context)
}

async function main(load) {
  const peers = withPeers ? installPeers(say) : []
  const { rest: words } = takeJsonFile(process.argv.slice(2))
  const command = ['npm run bench', ...(words.length > 0 ? ['--', ...words] : [])].join(' ')
  const report = {
    ...runFacts(command),
    machine: machine(),
    peers: describePeers(peers),
    workloads: [],
    growth: {},
    figures: {},
  }
  const names = ['floor', 'ours', ...peers]
  const context = { load, processes: new Processes(), names, say, report }
  introduce(peers)
  await measureWorkloads(context)
  for (const growth of GROWTHS.filter(({ name }) => isWanted(`growth: ${name}`, true))) {
    await attempt(`growth: ${growth.name}`, () => measureGrowth(growth, context))
    await context.processes.end()
  }
  if (isWanted('stdio start', true)) await attempt('stdio start', () => measureStdioStart(context))
  if (isWanted('first list', true)) await attempt('first list', () => measureFirstList(context))
  if (isWanted('idle sessions', true)) await attempt('idle sessions', () => measureIdleCrowd(context))
  if (isWanted('sdk', true)) await attempt('sdk', () => measureSdks(context))
  if (isWanted('start')) await attempt('start', () => measureStart(context))
  if (isWanted('memory')) await attempt('memory', () => measureMemory(context))
  if (isWanted('shim')) await attempt('shim', () => measureShim(context))
  await attempt('observability', () => measurePairs(context))
  if (isWanted('observability: memory', true))
    await attempt('observability: memory', () => measureWatchedMemory(context))
  if (isWanted('flat', true)) await attempt('flat', () => measureFlatness(context))
  if (jsonFile !== undefined) writeFileSync(jsonFile, JSON.stringify(report, undefined, 1))
}

async function endEarly() {
  await endAll()
  process.exit(1)
}

if (existsSync(new URL('../dist', import.meta.url))) {
  process.once('SIGINT', endEarly)
  process.once('SIGTERM', endEarly)
  try {
    await main(new LoadProcess())
  } catch (error) {
    say(`the benchmark ended early: ${error.stack}`)
  }
} else {
  say('dist is missing: run `npm run build` first')
}
await endAll()
