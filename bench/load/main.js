// The load generator, a process of its own; started by bench/run.js, which tells it what to do. No SDK, no HTTP library.
import { HttpCarrier, SseCarrier, StdioCarrier, WsCarrier } from './carriers.js'
import { cpuUs } from './processes.js'
import { noFaults, Session } from './session.js'

const DRAIN_MS = 20_000

const CARRIERS = {
  http: target => new HttpCarrier(target.url),
  sse: target => new SseCarrier(target.url),
  ws: target => new WsCarrier(target.url),
  stdio: target => new StdioCarrier(target.command),
}

/** Sessions that are open, by the name under which they were opened. */
const groups = new Map()

async function open({ name, target, sessions }) {
  const group = { sessions: [], faults: noFaults(), pid: target.pid, pages: {} }
  groups.set(name, group)
  for (let n = 0; n < sessions; n += 1) {
    const carrier = CARRIERS[target.transport](target)
    group.pid ??= carrier.pid
    const session = new Session(carrier, `${name}-${n}`, group.faults)
    group.sessions.push(session)
    const pages = await session.start()
    if (n === 0) group.pages = pages
  }
  return { pid: group.pid, pages: group.pages }
}

const median = sorted => sorted[Math.floor(sorted.length / 2)]

/** Keeps so many requests under way until the time is over, then waits for what is still open. */
function run({ name, inFlight, work, forMs, maxCalls }) {
  const { sessions, faults, pid, pages } = groups.get(name)
  const before = { ...faults }
  const took = []
  const list = Object.entries(pages)
  const cpuBefore = cpuUs(pid)
  const start = performance.now()
  let begun = 0
  let open = 0
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(backstop)
      const ms = performance.now() - start
      const cpu = cpuUs(pid) - cpuBefore
      took.sort((a, b) => a - b)
      const wrong = {}
      for (const kind of ['wrong', 'doubled', 'lost', 'unordered']) wrong[kind] = faults[kind] - before[kind]
      resolve({
        calls: took.length,
        perSecond: (took.length / ms) * 1000,
        cpuUs: cpu / took.length,
        p50Ms: median(took),
        p99Ms: took[Math.floor(took.length * 0.99)],
        ...wrong,
        example: faults.example,
      })
    }
    const backstop = setTimeout(() => {
      for (const session of sessions) session.giveUp()
      finish()
    }, forMs + DRAIN_MS)
    const next = () => {
      const isOver = begun >= maxCalls || performance.now() - start >= forMs
      if (isOver) {
        if (open === 0) finish()
        return
      }
      const session = sessions[begun % sessions.length]
      const nth = begun
      begun += 1
      open += 1
      const from = performance.now()
      const done = () => {
        took.push(performance.now() - from)
        open -= 1
        next()
      }
      if (work.list === true) {
        const [cursor, page] = list[nth % list.length]
        session.page(cursor, page.length, done)
      } else {
        session.call(work, done)
      }
    }
    for (let n = 0; n < inFlight; n += 1) next()
  })
}

function close({ name }) {
  for (const session of groups.get(name)?.sessions ?? []) session.close()
  groups.delete(name)
}

const JOBS = { open, run, close }

process.on('message', async ({ id, job, args }) => {
  try {
    process.send({ id, result: await JOBS[job](args) })
  } catch (error) {
    process.send({ id, error: error.message })
  }
})
process.on('disconnect', () => process.exit(0))
