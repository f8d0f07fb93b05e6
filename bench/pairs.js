// Measures the cost of observability: the same proxy with and without it, side by side. They alternate in
// slices so short that machine noise affects both; reports the median of many such rounds.
import { isWanted, slices } from './options.js'
import { median, show, spreadOf } from './report.js'
import { ROWS, WATCHED_WORK, watched } from './watching.js'

const SLICE_MS = 50
const ROUNDS = 100
const WARM_MS = 700
const WARM_ROUNDS = 6
const IN_FLIGHT = 64
const SESSIONS = 8

/** Both orders equally often, because the second finds a warmer machine. */
const ORDERS = [
  ['without', 'with', 'with', 'without'],
  ['with', 'without', 'without', 'with'],
]

/** Returns the ratios of CPU per call of one pair of processes, by round. */
async function roundsOf(row, load, [first, second]) {
  const run = async (side, forMs) => {
    const { calls, cpuUs } = await load.tell('run', {
      ...{ name: `${row} ${side}`, inFlight: IN_FLIGHT, work: WATCHED_WORK },
      ...{ forMs, maxCalls: Number.MAX_SAFE_INTEGER },
    })
    return { calls, us: calls * cpuUs }
  }
  const targets = {}
  for (const side of [first, second]) {
    targets[side] = await watched(row, side === 'with')
    await load.tell('open', { name: `${row} ${side}`, target: targets[side], sessions: SESSIONS })
  }
  for (let n = 0; n < WARM_ROUNDS; n += 1) for (const side of Object.keys(targets)) await run(side, WARM_MS)
  const ratios = []
  for (let n = 0; n < ROUNDS; n += 1) {
    const sums = { with: { calls: 0, us: 0 }, without: { calls: 0, us: 0 } }
    for (const side of ORDERS[n % 2]) {
      const { calls, us } = await run(side, SLICE_MS)
      sums[side].calls += calls
      sums[side].us += us
    }
    ratios.push(sums.with.us / sums.with.calls / (sums.without.us / sums.without.calls))
  }
  for (const side of Object.keys(targets)) {
    await load.tell('close', { name: `${row} ${side}` })
    await targets[side].end()
  }
  return ratios
}

/** Measures each row with one pair of processes per slice and reports the median. */
export async function measurePairs({ load, say, report }) {
  for (const row of Object.keys(ROWS).filter(name => isWanted(`observability: ${name}`, true))) {
    const pairs = []
    for (let n = 0; n < slices; n += 1) pairs.push(median(await roundsOf(row, load, ORDERS[n % 2])))
    const { median: middle, least, most } = spreadOf(pairs)
    const { limit } = ROWS[row]
    const target = limit === undefined ? '' : `   ≤ ${limit} ${middle <= limit ? '✓' : '✗'}`
    say(`observability: CPU per call with ${row}: ${show(middle)} (${show(least)}–${show(most)})${target}`)
    report.figures[`${row}: CPU per call`] = { unit: 'ratio', pairs, limit }
  }
}
