// Measurements of processes rather than calls: start and memory.
import { residentKiB } from './load/processes.js'
import { isFull, slices } from './options.js'
import { freshFolder } from './programs.js'
import { faultLines, figure, median, show } from './report.js'
import { isPeer, TARGETS } from './targets.js'

const CROWD = 1000
/** Some peers start processes for each session. */
const PEER_CROWD = 100
const OPEN_LIMIT_MS = 30_000
const FLAT_CALLS = 40_000
const FLAT_LIMIT_MS = 60_000
/** Ends long runs of slow peers. */
const PEER_LIMIT_MS = 20_000
const SETTLE_MS = 300

const OWN = ['floor', 'ours']

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

const open = (load, name, target, sessions) =>
  load.tell('open', { name, target, sessions, limitMs: OPEN_LIMIT_MS })

/** Values by target; reports a target's failure and leaves a gap. */
class Figures {
  #values = new Map()
  #context

  constructor(context) {
    this.#context = context
  }

  add(figureName, name, value) {
    const all = this.#values.get(figureName) ?? {}
    this.#values.set(figureName, all)
    all[name] = [...(all[name] ?? []), value]
  }

  /** Starts a target and ends it after `act`. Our proxy caches server data in `stateFolder`. */
  async with(name, act, { front = 'http', stateFolder = freshFolder(), ...kind } = {}) {
    let target
    try {
      target = await TARGETS[name][front]({ ...kind, stateFolder })
      await act(target)
    } catch (error) {
      this.#context.say(`    ${name}: ${error.message}`)
    }
    await target?.end()
  }

  tell(figureName, unit) {
    const all = this.#values.get(figureName)
    if (all === undefined) return
    const known = this.#context.names.filter(name => all[name] !== undefined)
    const medians = Object.fromEntries(known.map(name => [name, median(all[name])]))
    this.#context.report.figures[figureName] = { unit, ...medians }
    const told = Object.entries(medians)
      .filter(([name]) => name !== 'floor')
      .map(([name, value]) => `${name} ${show(value / medians.floor)}`)
    this.#context.say(`${figure(figureName, medians, unit)}   against the floor: ${told.join(', ')}`)
  }
}

const START = 'start to the first tools/list'
const AGAIN = 'the same, started again'
const IDLE = 'memory when idle'
const FEW_SESSIONS = 100
const FEW = `memory of a session, of ${FEW_SESSIONS} in an idle proxy`

/** Measures the time from process start to the first list of tools, and the idle memory. */
export async function measureStart(context) {
  const figures = new Figures(context)
  for (let n = 0; n < slices + 2; n += 1) {
    for (const name of context.names) await measureStartOf(name, figures, context)
  }
  figures.tell(START, 'ms')
  figures.tell(AGAIN, 'ms')
  figures.tell(IDLE, 'MiB')
  figures.tell(FEW, 'KiB')
}

const STDIO_START = 'start to the first tools/list, stdio to remote HTTP'
const STDIO_AGAIN = `${STDIO_START}, started again`
const FIRST_LIST = 'start to the first complete list, 10 servers with 10000 tools'

/** Measures the same for targets that start with their only client on stdio. */
export async function measureStdioStart(context) {
  const figures = new Figures(context)
  const act = (figureName, name) => async target => {
    const from = performance.now()
    await open(context.load, name, target, 1)
    figures.add(figureName, name, performance.now() - from)
    await context.load.tell('close', { name })
  }
  for (let n = 0; n < slices + 2; n += 1) {
    const stateFolder = freshFolder()
    for (const figureName of [STDIO_START, STDIO_AGAIN])
      for (const name of OWN) await figures.with(name, act(figureName, name), { front: 'stdio', stateFolder })
  }
  figures.tell(STDIO_START, 'ms')
  figures.tell(STDIO_AGAIN, 'ms')
}

/**
 * Our proxy may first list only the servers that answered in time, so this asks until the list is complete.
 */
export async function measureFirstList(context) {
  const figures = new Figures(context)
  const [servers, tools] = [10, 1000]
  const { load } = context
  const list = async (name, target) => {
    const { pages } = await open(load, name, target, 1)
    await load.tell('close', { name })
    if (Object.values(pages).join('').split('"inputSchema"').length - 1 < servers * tools)
      await list(name, target)
  }
  for (let n = 0; n < slices + 2; n += 1)
    for (const name of OWN) {
      const from = performance.now()
      const act = async target => {
        await list(name, target)
        figures.add(FIRST_LIST, name, performance.now() - from)
      }
      await figures.with(name, act, { front: 'many', servers, tools })
    }
  figures.tell(FIRST_LIST, 'ms')
}

/**
 * Each session opens two connections: a larger crowd would exceed the limit of 20,000 open files per process.
 */
const IDLE_CROWD = 5000
/** Maximum memory of a session beyond the floor's. */
const IDLE_KIB = 8
const IDLE_CROWD_LIMIT_MS = 120_000
const IDLE_SESSION = `memory of an idle session with its connection, of ${IDLE_CROWD}`

/** Measures the memory of idle sessions beyond Node's own memory per connection. */
export async function measureIdleCrowd(context) {
  const figures = new Figures(context)
  for (const name of OWN) {
    const act = async target => {
      await open(context.load, name, target, IDLE_CROWD / 10)
      const before = residentKiB(target.pid)
      const crowd = { name: `${name} crowd`, target, sessions: IDLE_CROWD, limitMs: IDLE_CROWD_LIMIT_MS }
      await context.load.tell('open', crowd)
      await pause(SETTLE_MS)
      figures.add(IDLE_SESSION, name, (residentKiB(target.pid) - before) / IDLE_CROWD)
      for (const group of [name, crowd.name]) await context.load.tell('close', { name: group })
    }
    await figures.with(name, act, { front: 'crowd' })
  }
  figures.tell(IDLE_SESSION, 'KiB')
  const { floor, ours } = context.report.figures[IDLE_SESSION] ?? {}
  context.say(
    `    ours beyond the floor: ${show(ours - floor)} KiB (≤ ${IDLE_KIB} ${ours - floor <= IDLE_KIB ? '✓' : '✗'})`,
  )
}

/** On the second start, our proxy knows its server from the cache; the other targets have none. */
async function measureStartOf(name, figures, { load }) {
  const stateFolder = freshFolder()
  for (const figureName of [START, AGAIN]) {
    const from = performance.now()
    const act = async target => {
      await open(load, name, target, 1)
      figures.add(figureName, name, performance.now() - from)
      await pause(SETTLE_MS)
      if (figureName === START) await idleMemoryOf(name, target, figures, load)
      await load.tell('close', { name })
    }
    await figures.with(name, act, { stateFolder })
    if (isPeer(name)) return
  }
}

async function idleMemoryOf(name, target, figures, load) {
  const idleKiB = residentKiB(target.pid)
  figures.add(IDLE, name, idleKiB / 1024)
  if (isPeer(name)) return
  await open(load, `${name} few`, target, FEW_SESSIONS)
  await pause(SETTLE_MS)
  figures.add(FEW, name, (residentKiB(target.pid) - idleKiB) / FEW_SESSIONS)
  await load.tell('close', { name: `${name} few` })
}

const AFTER_LOAD = 'memory after 5000 calls'
const SESSION = `memory of a session, of ${CROWD} (peers: of ${PEER_CROWD})`

/** Measures the memory that calls and sessions leave behind. Repeated, because heaps grow in steps. */
export async function measureMemory(context) {
  const figures = new Figures(context)
  for (let n = 0; n < slices / 2; n += 1) {
    for (const name of context.names.filter(one => n === 0 || !isPeer(one))) {
      await figures.with(name, target => memoryOf({ name, target, figures }, context))
    }
  }
  figures.tell(AFTER_LOAD, 'MiB')
  figures.tell(SESSION, 'KiB')
}

/** Runs small concurrent calls. */
async function runCalls(name, maxCalls, forMs, { load, say }) {
  const slice = await load.tell('run', {
    name,
    inFlight: 16,
    work: { tool: 'make', size: 20, argument: 32, notices: 0 },
    forMs,
    maxCalls,
    drainMs: 10_000,
  })
  for (const line of faultLines(name, slice, slice.example)) say(line)
  return slice.calls
}

async function memoryOf({ name, target, figures }, context) {
  const { load } = context
  await open(load, name, target, 1)
  await runCalls(name, 5000, 10_000, context)
  figures.add(AFTER_LOAD, name, residentKiB(target.pid) / 1024)
  // The first sessions fit into memory that the load has freed.
  const count = isPeer(name) ? PEER_CROWD : CROWD
  await open(load, `${name} first`, target, count / 10)
  const before = residentKiB(target.pid)
  await open(load, `${name} crowd`, target, count)
  await pause(SETTLE_MS)
  figures.add(SESSION, name, (residentKiB(target.pid) - before) / count)
  for (const group of [name, `${name} first`, `${name} crowd`]) await load.tell('close', { name: group })
}

const GROWTH = 'growth from the one to the other'

/** Compares the memory after a quarter of many calls with the memory after all of them. */
export async function measureFlatness(context) {
  const figures = new Figures(context)
  const { load } = context
  const [early, late] = [FLAT_CALLS / 4, FLAT_CALLS].map(calls => `memory after ${calls} calls`)
  for (let n = 0; n < (isFull ? 2 : 1); n += 1) {
    for (const name of context.names.filter(one => n === 0 || !isPeer(one))) {
      const limitMs = isPeer(name) ? PEER_LIMIT_MS : FLAT_LIMIT_MS
      await figures.with(name, async target => {
        await open(load, name, target, 1)
        const first = await runCalls(name, FLAT_CALLS / 4, limitMs / 2, context)
        const earlyMiB = residentKiB(target.pid) / 1024
        figures.add(early, name, earlyMiB)
        const done = first + (await runCalls(name, FLAT_CALLS - first, limitMs, context))
        if (done < FLAT_CALLS) context.say(`    ${name}: ${done} of ${FLAT_CALLS} calls in time`)
        const lateMiB = residentKiB(target.pid) / 1024
        figures.add(late, name, lateMiB)
        figures.add(GROWTH, name, lateMiB - earlyMiB)
        await load.tell('close', { name })
      })
    }
  }
  figures.tell(early, 'MiB')
  figures.tell(late, 'MiB')
  figures.tell(GROWTH, 'MiB')
}
