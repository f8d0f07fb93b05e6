// Compares how the cost of a call grows with the load: our proxy against the floor.

import { ready } from './measure.js'
import { sliceMs, slices } from './options.js'
import { Participant } from './participant.js'
import { growthLine, median, show, spreadOf } from './report.js'

const ENDS = ['from', 'to']
const NAMES = ['floor', 'ours']

/** Alternates between both ends of both targets, so that machine noise affects all four. */
export async function measureGrowth(growth, context) {
  const all = []
  try {
    for (const end of ENDS) {
      const workload = growth[end]
      const both = NAMES.map(name => new Participant(name, workload, context))
      all.push(...both)
      await ready(both, workload, context)
    }
    for (let n = 0; n < slices * 2; n += 1) for (const one of all) await one.measure(sliceMs)
  } finally {
    for (const one of all) await one.close()
  }
  const [floorFrom, oursFrom, floorTo, oursTo] = all.map(one => one.slices.map(({ cpuUs }) => cpuUs))
  const factor = (to, from) => to.map((cpu, i) => cpu / from[i])
  const [floor, ours] = [factor(floorTo, floorFrom), factor(oursTo, oursFrom)]
  const found = {
    floor: median(floor),
    ours: median(ours),
    against: spreadOf(ours.map((grown, i) => grown / floor[i])),
    limit: growth.limit,
    faults: all.reduce((sum, one) => sum + one.faultCount, 0),
  }
  context.say(growthLine(growth.name, found))
  context.report.growth[growth.name] = found
}

const MIB_8 = 8

/** Compares the throughput (MiB/s) of 8 MiB and 1 MiB messages. */
export function tellLinearity({ say, report }) {
  for (const small of report.workloads.filter(({ name }) => name.startsWith('1 MiB'))) {
    const large = report.workloads.find(
      ({ front, name }) => front === small.front && name === small.name.replace('1 MiB', '8 MiB'),
    )
    if (large === undefined) continue
    const rate = ({ results }, name) => median((results[name]?.slices ?? []).map(slice => slice.perSecond))
    const found = Object.fromEntries(
      Object.keys(small.results).map(name => [name, (rate(large, name) * MIB_8) / rate(small, name)]),
    )
    const name = `${small.front}: MiB/s of 8 MiB against 1 MiB, ${small.name.slice(6)}`
    const told = Object.entries(found).map(([who, value]) => `${who} ${show(value)}`)
    say(`${name}: ${told.join(', ')}   ours ≥ 0.8 ${found.ours >= 0.8 ? '✓' : '✗'}`)
    report.figures[name] = found
  }
}
