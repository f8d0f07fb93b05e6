// Measures workloads at all targets in alternating slices.
import { isFull, sliceMs, slices } from './options.js'
import { Participant, Processes } from './participant.js'
import { ratio, rows, troubles, verdictOf } from './report.js'
import { isPeer, TARGETS } from './targets.js'

/** The first calls of a process, before V8 has compiled their code. */
const COLD_CALLS = 500
const COLD_LIMIT_MS = 10_000
const LISTING_LIMIT = 50
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Returns the targets that support a workload; most peers have one transport. */
const participantsOf = (workload, context) =>
  context.names
    .filter(name => TARGETS[name][workload.front] !== undefined)
    .filter(name => !isPeer(name) || workload.server === undefined)
    .map(name => new Participant(name, workload, context))

/** Returns the tool pages of our proxy once all servers are listed; the floor sends the same bytes. */
async function pagesOf(workload, context) {
  const ours = new Participant('ours', workload, context)
  let pages = {}
  for (let n = 0; n < LISTING_LIMIT; n += 1) {
    const opened = await ours.open({ sessions: 1 })
    pages = opened.pages
    await ours.close()
    const found = Object.values(pages).join('').split('"inputSchema"').length - 1
    if (found >= workload.servers * workload.tools) break
    await pause(200)
  }
  return pages
}

/** Continues after a peer's failure; without the floor and our proxy there is no comparison. */
async function attempt(participant, act) {
  try {
    await act(participant)
  } catch (error) {
    if (!isPeer(participant.name)) throw error
    participant.trouble ??= error.message
  }
}

/** Opens and warms up the sessions of all participants. */
export async function ready(participants, workload, context) {
  const pages = workload.front === 'many' ? await pagesOf(workload, context) : undefined
  for (const one of participants) await attempt(one, () => one.open({ pages }))
  for (const one of participants)
    if (one.isMeasurable) await attempt(one, () => one.warmUp(isFull ? sliceMs : sliceMs / 2))
}

/** Measures and reports a workload. */
export async function measure(workload, context) {
  const participants = workload.isCold ? await coldOf(workload, context) : await warmOf(workload, context)
  tell(workload, participants, context)
}

async function warmOf(workload, context) {
  const participants = participantsOf(workload, context)
  try {
    await ready(participants, workload, context)
    for (let n = 0; n < slices; n += 1)
      for (const one of participants) await attempt(one, () => one.measure(sliceMs))
  } finally {
    for (const one of participants) await one.close()
  }
  return participants
}

/** Measures the first calls of a fresh process per slice. */
async function coldOf(workload, context) {
  const all = []
  for (let n = 0; n < slices + 2; n += 1) {
    for (const one of participantsOf(workload, context)) {
      const processes = new Processes()
      const fresh = new Participant(one.name, workload, { ...context, processes })
      await attempt(fresh, () => fresh.open())
      if (fresh.isMeasurable) await attempt(fresh, () => fresh.measure(COLD_LIMIT_MS, COLD_CALLS))
      await fresh.close()
      await processes.end()
      const known = all.find(({ name }) => name === one.name)
      if (known === undefined) all.push(fresh)
      else known.add(fresh)
    }
  }
  return all
}

function tell(workload, participants, { say, report }) {
  const floor = participants.find(({ name }) => name === 'floor')
  const results = {}
  for (const one of participants) {
    const ratios = {
      rate: ratio(one.slices, floor.slices, 'perSecond'),
      cpu: ratio(one.slices, floor.slices, 'cpuUs'),
      p50: ratio(one.slices, floor.slices, 'p50Ms'),
    }
    results[one.name] = {
      slices: one.slices,
      ratios,
      verdict: verdictOf(workload, ratios),
      faults: one.faults,
      trouble: one.trouble,
      example: one.example,
    }
  }
  for (const row of rows(workload, results)) say(row)
  for (const row of troubles(results)) say(row)
  const { name, front, must, wish } = workload
  report.workloads.push({ name, front, must, wish, results })
}
