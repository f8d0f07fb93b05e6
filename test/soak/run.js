#!/usr/bin/env node
// `npm run soak -- [--minutes 10] [--seed N]`: a proxy under mixed load, whose servers are killed and whose
// configuration is changed all the time. Says once a minute how it is, and at the end whether memory, handles
// or processes grew since the warm-up, and whether each request had exactly one answer. Exits with 1 if not.
// Needs Linux, and `npm run build` before.
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { eventStream, HttpClient, Ledger, PipeClient, webSocket } from './clients.js'
import { Daemon } from './daemon.js'
import { randomFrom, work } from './load.js'
import { startRemote } from './remote.js'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const random = randomFrom(seed)
const chance = likelihood => random() < likelihood

const RAW = fileURLToPath(new URL('../fixtures/raw-server.mjs', import.meta.url))
// What vanished clients left under way is over soon.
const timeouts = { call: '10s' }
const server = name => ({ command: process.execPath, args: [RAW, name], timeouts })
const remote = await startRemote(chance)
const BASE = {
  shared: server('shared'),
  own: { ...server('own'), sharing: 'session' },
  remote: { type: 'http', url: remote.url, timeouts },
}
const config = mcpServers => ({
  mcpServers,
  startupWait: '2s',
  limits: { sessionIdle: '5s', keepAliveTime: '2s' },
})
const daemon = new Daemon()
const ledger = new Ledger()
const counts = { kills: 0, reloads: 0 }
const mib = bytes => `${(bytes / 2 ** 20).toFixed(1)} MiB`

console.log(`soak: ${minutes} min, --seed ${seed}`)
await daemon.start(config(BASE))

const pipe = connect => () => new PipeClient(connect(daemon.url), ledger)
const http = era => () => new HttpClient(daemon.url, ledger, era)
const WORKERS = [
  ...Array.from({ length: 6 }, () => [http('legacy'), false]),
  ...Array.from({ length: 3 }, () => [http('modern'), true]),
  ...Array.from({ length: 3 }, () => [pipe(webSocket), false]),
  ...Array.from({ length: 2 }, () => [pipe(eventStream), false]),
]

/** Kills a server every few seconds, and adds or removes one with the configuration. */
const wreak = async isOver => {
  for (let turn = 0; !isOver(); turn += 1) {
    await delay(2000 + random() * 2000)
    const { servers } = await daemon.status()
    const pids = servers.flatMap(one => one.pids)
    const pid = pids[Math.floor(random() * pids.length)]
    if (pid !== undefined) {
      try {
        process.kill(pid, 'SIGKILL')
        counts.kills += 1
      } catch {
        // It had just ended by itself.
      }
    }
    if (turn % 4 !== 3) continue
    const isThere = servers.some(({ name }) => name === 'extra')
    daemon.write(config(isThere ? BASE : { ...BASE, extra: server('extra') }))
    counts.reloads += 1
  }
}

/**
 * Everything at once for so long; then all clients leave, and what is left of them is given the time to go.
 */
const loadFor = async ms => {
  const endMs = performance.now() + ms
  const isOver = () => performance.now() > endMs || !daemon.isUp
  await Promise.all([
    wreak(isOver),
    ...WORKERS.map(([make, isModern]) => work(make, { random, ledger, isOver, isModern })),
  ])
  daemon.write(config(BASE))
  const limitMs = performance.now() + 40_000
  for (;;) {
    const { sessions, calls, servers } = await daemon.status()
    const isSettled = servers.every(({ state }) => state === 'ready' || state === 'idle')
    // Those of 2026-07-28 are remembered for a while.
    if ((sessions <= 3 && calls === 0 && isSettled) || performance.now() > limitMs) break
    await delay(500)
  }
  // Programs that run for a session alone end a few seconds after it.
  await delay(6000)
}

const line = (label, m) =>
  console.log(
    `${label}: ${ledger.answered} answers (${ledger.errors} errors, ${ledger.abandoned} abandoned, ` +
      `${ledger.lost.length} lost, ${ledger.doubled.length} doubled, ${ledger.wrong.length} wrong), ` +
      `${counts.kills} kills, ${counts.reloads} reloads; heap ${mib(m.heap)}, rss ${mib(m.rss)}, ${m.fds} fds, ` +
      `${m.children} processes, ${m.sessions} sessions, ${m.calls} calls`,
  )

const warmUpMs = Math.min(60_000, minutes * 15_000)
await loadFor(warmUpMs)
const before = await daemon.measure()
line('after the warm-up', before)

const minutely = setInterval(async () => {
  try {
    line(new Date().toISOString().slice(11, 16), await daemon.measure())
  } catch (error) {
    console.log(String(error))
  }
}, 60_000)
await loadFor(minutes * 60_000 - warmUpMs)
clearInterval(minutely)
const after = await daemon.measure()
line('at the end', after)

/** Caches are filled up to their bounds, and no two heaps are alike. */
const ROOM = {
  heap: 6 * 2 ** 20,
  external: 4 * 2 ** 20,
  rss: 48 * 2 ** 20,
  fds: 6,
  children: 1,
  sessions: 3,
  calls: 0,
}
const problems = Object.entries(ROOM).flatMap(([what, room]) => {
  const isGrown = after[what] > before[what] * (what === 'rss' ? 1.25 : 1) + room
  return isGrown ? [`${what} grew from ${before[what]} to ${after[what]}`] : []
})
for (const what of ['lost', 'doubled', 'wrong']) {
  if (ledger[what].length > 0) problems.push(`${what}: ${ledger[what].join('; ')}`)
}
for (const name of [...Object.keys(BASE), 'extra']) {
  if (!ledger.served.has(name)) problems.push(`the server ${name} never served anybody`)
}
const unaccounted = ledger.asked - ledger.answered - ledger.abandoned
if (unaccounted !== ledger.lost.length) problems.push(`${unaccounted} requests are unaccounted for`)
console.log('handles before', JSON.stringify(before.resources), 'and after', JSON.stringify(after.resources))
const { code, left } = await daemon.stop()
if (code !== 0) problems.push(`the proxy ended with ${code}: ${daemon.log.slice(-2000)}`)
if (left > 0) problems.push(`${left} processes outlived it`)
if (/Internal error|could not be handled|"level":(?:50|60)/.test(daemon.log))
  problems.push(`the log has errors`)
remote.stop()
console.log(problems.length === 0 ? 'verdict: steady' : `verdict: NOT steady\n${problems.join('\n')}`)
process.exit(problems.length === 0 ? 0 : 1)
