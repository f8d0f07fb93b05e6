// The load generator, a separate process controlled by bench/load-process.js. Uses no HTTP library, and an
// SDK only in ./sdk.js.
import { SseCarrier, StdioCarrier, WsCarrier } from './carriers.js'
import { HttpCarrier, StatelessCarrier } from './http.js'
import { cpuClock } from './processes.js'
import { sdkClient } from './sdk.js'
import { FAULTS, noFaults, Session } from './session.js'

/** Failed requests that end a run early, because it would measure nothing. */
const FAILURE_LIMIT = 200

const CARRIERS = {
  http: target => new HttpCarrier(target.url, target.token, target.first),
  stateless: target => new StatelessCarrier(target.url),
  sse: target => new SseCarrier(target.url),
  ws: target => new WsCarrier(target.url),
  stdio: target => new StdioCarrier(target),
}

/** Open sessions by group name. */
const groups = new Map()

/** Opens sessions sequentially, within `limitMs` in total. */
async function open({ name, target, sessions, isStateless = false, limitMs = 30_000 }) {
  const group = { sessions: [], faults: noFaults(), pid: target.pid, pages: {} }
  groups.set(name, group)
  const until = performance.now() + limitMs
  for (let n = 0; n < sessions; n += 1) {
    const leftMs = Math.round(until - performance.now())
    if (leftMs <= 0) throw new Error(`${n} of ${sessions} sessions in ${limitMs / 1000} s`)
    const carrier = CARRIERS[isStateless ? 'stateless' : target.transport](target)
    group.pid ??= carrier.pid
    const session = new Session(carrier, { name: `s${n}`, faults: group.faults, isStateless })
    group.sessions.push(session)
    const pages = await session.start(leftMs)
    if (n === 0) group.pages = pages
  }
  return { pid: group.pid, pages: group.pages }
}

const at = (sorted, part) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN

/** Summarises a run: `ms` and `cpu` in total, `took` in milliseconds per correct answer. */
function summaryOf({ ms, cpu, took, isHung }, before, faults) {
  took.sort((a, b) => a - b)
  return {
    calls: took.length,
    perSecond: (took.length / ms) * 1000,
    cpuUs: took.length === 0 ? Number.NaN : cpu / took.length,
    p50Ms: at(took, 0.5),
    p99Ms: at(took, 0.99),
    isHung,
    ...Object.fromEntries(FAULTS.map(kind => [kind, faults[kind] - before[kind]])),
    example: faults.example,
  }
}

/**
 * Keeps this number of requests in flight until the time is over, then waits up to `drainMs` for open ones.
 */
function run({ name, inFlight, work, forMs, maxCalls, drainMs = 20_000 }) {
  const { sessions, faults, pid, pages } = groups.get(name)
  const before = { ...faults }
  const took = []
  const list = Object.entries(pages)
  const cpuUs = cpuClock(pid)
  const cpuBefore = cpuUs()
  const start = performance.now()
  let [begun, open, failed, isDone] = [0, 0, 0, false]
  return new Promise(resolve => {
    const finish = isHung => {
      if (isDone) return
      isDone = true
      clearTimeout(backstop)
      const ms = performance.now() - start
      resolve(summaryOf({ ms, cpu: cpuUs() - cpuBefore, took, isHung }, before, faults))
    }
    const backstop = setTimeout(() => {
      for (const session of sessions) session.giveUp()
      finish(true)
    }, forMs + drainMs)
    const next = () => {
      const isOver = begun >= maxCalls || failed >= FAILURE_LIMIT || performance.now() - start >= forMs
      if (isOver) {
        if (open === 0) finish(false)
        return
      }
      const session = sessions[begun % sessions.length]
      const nth = begun
      begun += 1
      open += 1
      const from = performance.now()
      const done = isRight => {
        if (isRight) took.push(performance.now() - from)
        else failed += 1
        open -= 1
        next()
      }
      if (work.list === true) {
        const [cursor, page] = list[nth % list.length]
        session.page(cursor, page.length, done)
      } else {
        session.call(
          work.inTurn === undefined ? work : { ...work, tool: work.inTurn[nth % work.inTurn.length] },
          done,
        )
      }
    }
    for (let n = 0; n < inFlight; n += 1) next()
  })
}

async function close({ name }) {
  await Promise.all((groups.get(name)?.sessions ?? []).map(session => session.close()))
  groups.delete(name)
}

/** Connected SDK clients by name. */
const sdkClients = new Map()

async function openSdk({ name, version, target }) {
  sdkClients.set(name, await sdkClient(version, target))
}

const runSdk = ({ name, calls, notices }) => sdkClients.get(name).run(calls, notices)

async function closeSdk({ name }) {
  await sdkClients.get(name).close()
  sdkClients.delete(name)
}

const JOBS = { open, run, close, openSdk, runSdk, closeSdk }

process.on('message', async ({ id, job, args }) => {
  try {
    process.send({ id, result: await JOBS[job](args) })
  } catch (error) {
    process.send({ id, error: error.message })
  }
})
process.on('disconnect', () => process.exit(0))
