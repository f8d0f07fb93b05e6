// Measures what clients of the TypeScript SDK notice: the delay of answers with progress, and losses.

import { noFaults } from './load/session.js'
import { slices } from './options.js'
import { Processes } from './participant.js'
import { faultLines, median, show } from './report.js'

const VERSIONS = ['1.32', '2.4', '2.4 of 2026-07-28']
const FRONTS = ['http', 'sse', 'stdio']
const NAMES = ['floor', 'ours']
const CALLS = 100
const WARM_UP = 300
const NOTICES = [0, 20]
/** Maximum median delay of an answer compared with the floor. */
const LATER_MS = 2

/** Alternates between both. With the floor, clients lose progress that arrives together with the answer. */
export async function measureSdks(context) {
  for (const front of FRONTS) {
    const processes = new Processes()
    for (const version of VERSIONS)
      await attempt(`sdk ${version} over ${front}`, context, () =>
        measureSdk(version, front, processes, context),
      )
    await processes.end()
  }
}

async function attempt(name, { say }, act) {
  try {
    await act(name)
  } catch (error) {
    say(`${name}: not measured: ${error.message}`)
  }
}

async function measureSdk(version, front, processes, { load, say, report }) {
  const name = `sdk ${version} over ${front}`
  for (const one of NAMES) {
    const target = await processes.of(one, { front })
    await load.tell('openSdk', { name: `${name} ${one}`, version, target })
    await load.tell('runSdk', { name: `${name} ${one}`, calls: WARM_UP, notices: NOTICES.at(-1) })
  }
  for (const notices of NOTICES) {
    const found = Object.fromEntries(NAMES.map(one => [one, { took: [], faults: noFaults() }]))
    for (let n = 0; n < slices; n += 1)
      for (const one of NAMES) {
        const { took, faults } = await load.tell('runSdk', { name: `${name} ${one}`, calls: CALLS, notices })
        found[one].took.push(median(took))
        for (const kind of Object.keys(faults)) found[one].faults[kind] += faults[kind]
      }
    tell(`${name}, ${notices} notices`, found, { say, report })
  }
  for (const one of NAMES) await load.tell('closeSdk', { name: `${name} ${one}` })
}

const tell = (name, { floor, ours }, { say, report }) => {
  const [floorMs, oursMs] = [median(floor.took), median(ours.took)]
  const later = median(ours.took.map((ms, i) => ms - floor.took[i]))
  const calls = slices * CALLS
  report.figures[name] = { floorMs, oursMs, later, faults: { floor: floor.faults, ours: ours.faults } }
  say(
    `${name}: floor ${show(floorMs)} ms, ours ${show(oursMs)} ms: ${show(later)} ms later (≤ ${LATER_MS} ${later <= LATER_MS ? '✓' : '✗'}); calls that lost progress: floor ${floor.faults.missing}, ours ${ours.faults.missing} of ${calls}`,
  )
  for (const line of faultLines('ours', { ...ours.faults, missing: 0 }, name)) say(line)
}
