#!/usr/bin/env node
// `npm run soak:replicas -- [--minutes 2] [--sessions 50] [--rate 100] [--every 20] [--how kill,restart]
// [--clock 5] [--old FILE]`: three replicas behind a balancer that goes round, under calls, questions and
// progress. One is killed, stopped in order (`restart`) or frozen (`freeze`), the engine is frozen (`engine`)
// or loses its data (`empty`), or one replica is cut off from the engine (`engine-cut`, `engine-silent`) or
// others from it (`peer-cut`, `peer-silent`), in turn. With `--clock` the clocks of two are so many minutes
// wrong; with `--old` every other replica runs that bin/mcp-proxy.js of an earlier version. Says what became
// of all calls; exits with 1 if one ran twice, was lost or got a wrong answer, a session ended, or the engine
// learned something. Needs Linux, redis-server, and `npm run build` before.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startRedis } from '../fixtures/redis.mjs'
import { startRoundRobin } from '../fixtures/round-robin.mjs'
import { clusterOf, replicaConfig, startApart, startReplicas } from './replica-set.js'
import { Outcomes, ReplicatedClient } from './replicated-client.js'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    sessions: { type: 'string', default: '50' },
    rate: { type: 'string', default: '100' },
    every: { type: 'string', default: '20' },
    how: { type: 'string', default: 'kill' },
    clock: { type: 'string', default: '0' },
    old: { type: 'string' },
  },
})
const [minutes, sessions, rate, every] = ['minutes', 'sessions', 'rate', 'every'].map(key =>
  Number(values[key]),
)
const hows = values.how.split(',')

const folder = mkdtempSync(join(tmpdir(), 'mcp-soak-'))
const counted = join(folder, 'calls')
writeFileSync(counted, '')

const redis = await startRedis()

const SERVER = {
  command: process.execPath,
  args: [fileURLToPath(new URL('counting-server.mjs', import.meta.url))],
  env: { COUNT_FILE: counted },
}
// Of a question nobody could tell whose it is, if the server had calls of several sessions.
const CONFIG = replicaConfig(redis, { all: SERVER, own: { ...SERVER, sharing: 'session' } })

let begun = 0
const start = () => {
  begun += 1
  const shiftMs = [0, 60_000, -60_000][begun % 3] * Number(values.clock)
  const bin = begun % 2 === 0 ? values.old : undefined
  return startApart(CONFIG, { bin, env: shiftMs === 0 ? {} : withClock(shiftMs) })
}
const CLOCK = new URL('../fixtures/clock-shift.mjs', import.meta.url).href
const withClock = shiftMs => ({ NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_SHIFT_MS: String(shiftMs) })

/** Those that get requests: of the ready ones, each in turn. */
let replicas = await startReplicas(3, CONFIG, start)
const addresses = () => replicas.map(({ url }) => new URL(url))
const balancer = await startRoundRobin(addresses())
const probe = setInterval(async () => {
  const now = await Promise.all(
    replicas.map(async one => {
      const response = await fetch(new URL('/readyz', one.url), { signal: AbortSignal.timeout(1000) }).catch(
        () => undefined,
      )
      await response?.body?.cancel()
      return response?.status === 200
    }),
  )
  balancer.targets = addresses().filter((_, at) => now[at])
}, 500)

const outcomes = new Outcomes()
const clients = Array.from(
  { length: sessions },
  (_, n) => new ReplicatedClient(balancer.url, `c${n}`, outcomes),
)
await Promise.all(clients.map(client => client.open()))
console.log(`${sessions} sessions are open`)

/** For longer than a lease, and than anybody waits. */
const TROUBLE_MS = 15_000
const breaking = (way, mode) => async at => {
  const { ways } = replicas[at]
  ways[way].mode = mode
  await delay(TROUBLE_MS)
  ways[way].mode = 'open'
  // What was left out once makes nonsense of what follows.
  ways[way].reset()
}

const HOW = {
  'engine-cut': breaking('engine', 'cut'),
  'engine-silent': breaking('engine', 'silent'),
  'peer-cut': breaking('peer', 'cut'),
  'peer-silent': breaking('peer', 'silent'),
  async kill(at) {
    const { ways } = replicas[at]
    replicas[at].signal('SIGKILL')
    for (const way of Object.values(ways)) way.close()
    replicas[at] = await start()
  },
  async restart(at) {
    const old = replicas[at]
    const young = await start()
    replicas.push(young)
    await old.stop()
    replicas = replicas.filter(one => one !== old)
  },
  async freeze(at) {
    replicas[at].signal('SIGSTOP')
    await delay(TROUBLE_MS)
    replicas[at].signal('SIGCONT')
  },
  async engine() {
    redis.child.kill('SIGSTOP')
    await delay(TROUBLE_MS)
    redis.child.kill('SIGCONT')
  },
  async empty() {
    redis.child.kill('SIGKILL')
    await delay(3000)
    await redis.restart()
  },
}

const endMs = performance.now() + minutes * 60_000
const isOver = () => performance.now() > endMs
const SHARED = ['all__run', 'all__run', 'all__slow']
const TOOLS = [...SHARED, 'own__run', 'own__ask']
/** So many have a server of their own: what a machine with two processors starts anew within some seconds. */
const OWNERS_MAX = 40
const worker = async (client, at) => {
  const tools = at % sessions < OWNERS_MAX ? TOOLS : SHARED
  while (!isOver()) {
    await client.call(tools[Math.floor(Math.random() * tools.length)])
    await delay(Math.random() * 4000 * (sessions / rate))
  }
}
const wreak = async () => {
  for (let n = 0; ; n += 1) {
    await delay(every * 1000)
    if (isOver()) return
    const how = hows[n % hows.length]
    console.log(`${how}; so far ${tell()}`)
    await HOW[how](n % replicas.length)
  }
}
const tell = () => {
  const { right, honest, cut, retried, longestMs, wrong } = outcomes
  const bad = [...wrong].map(([kind, { count, first }]) => `${count} × ${kind} (${first})`)
  const retries = [...retried].map(([why, count]) => `${count} retries (${why}), `).join('')
  return `${right} right, ${honest} replica_lost, ${cut} cut, ${retries}longest ${Math.round(longestMs)} ms; ${bad.join('; ') || 'nothing bad'}`
}
const quiet = redis.ask('info', 'commandstats')
const evals = said => Number(/cmdstat_evalsha:calls=(\d+)/.exec(said)?.[1] ?? 0)
const wreaking = wreak()
// Two requests of one session are under way at two replicas.
await Promise.all([...clients, ...clients].map(worker))
await wreaking

for (const one of replicas)
  console.log(JSON.stringify(await clusterOf(one).then(({ members, ...rest }) => rest)))

/** All that the engine has, as it keeps it; nothing goes through the ways meanwhile. */
const kept = () => {
  const all = redis.ask('--scan').trim().split('\n')
  const read = { hash: 'hgetall', string: 'get', zset: 'zrange' }
  return all.map(key => {
    const type = redis.ask('type', key).trim()
    return key + redis.ask(read[type], key, ...(type === 'zset' ? ['0', '-1'] : []))
  })
}
const dump = kept().join('\n')
const canaries = ['counting', 'elicitation', 'initialize', 'local', ...clients.flatMap(one => one.words)]

const problems = [...outcomes.wrong].map(([kind, { count, first }]) => `${count} × ${kind}: ${first}`)
const runs = new Map()
for (const tag of readFileSync(counted, 'utf8').split('\n'))
  if (tag !== '') runs.set(tag, (runs.get(tag) ?? 0) + 1)
const twice = [...runs].filter(([, count]) => count > 1)
if (twice.length > 0) problems.push(`${twice.length} calls ran twice, such as ${twice[0][0]}`)
const told = canaries.filter(word => dump.includes(word))
if (told.length > 0) problems.push(`the engine knows ${told.slice(0, 3).join(', ')}`)
console.log(
  `at the end ${tell()}; ${runs.size} runs; EVALSHA ${evals(redis.ask('info', 'commandstats')) - evals(quiet)}`,
)
clearInterval(probe)
for (const client of clients) client.leave()
balancer.close()
for (const one of replicas) one.kill()
redis.child.kill('SIGKILL')
if (process.env.LOGS) for (const one of replicas) console.log(one.log)
console.log(problems.length === 0 ? 'verdict: steady' : `verdict: NOT steady\n${problems.join('\n')}`)
process.exit(problems.length === 0 ? 0 : 1)
