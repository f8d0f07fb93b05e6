import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Answer, probe, RawClient } from '../support/client/raw-client.js'
import { endWith, isRunning, OWN_GROUP, skipWithout, until } from '../support/processes.js'
import { configFile, openHandles, rawServer, startBin, startDaemon } from '../support/proxy/start.js'

const skip = skipWithout.proc
const CROWD = fileURLToPath(new URL('../fixtures/crowd.mjs', import.meta.url))
const CHILD = fileURLToPath(new URL('../fixtures/hostile-child.mjs', import.meta.url))
const hostile = (mode: string): object => ({ command: process.execPath, args: [CHILD, mode] })
const textOf = ({ last }: Answer): string => String(last.message.result?.content?.[0]?.text)

/** A hundred here; as many as `MCP_TEST_SESSIONS` says on a machine that has the time. */
const SESSIONS = Number(process.env['MCP_TEST_SESSIONS'] ?? 100)

/** A process with so many clients, each with a session and a call under way. */
const crowd = async (t: Test, url: string, count: number): Promise<ChildProcess> => {
  const child = spawn(process.execPath, [CROWD, url, String(count)], {
    ...OWN_GROUP,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWith(t, child)
  await once(child.stdout, 'data')
  return child
}

t.test(
  'of many sessions nothing lives when their clients, and then the proxy, are killed',
  { skip },
  async t => {
    const many = 2 * SESSIONS + 100
    const limits = { sessions: many, sessionsPerPrincipal: many, callsPerServer: many, childrenPerServer: 16 }
    const daemon = await startDaemon(
      t,
      {
        shared: rawServer(),
        own: { ...rawServer(), sharing: 'session' },
        stubborn: hostile('ignores-everything'),
        parent: hostile('leaves-a-grandchild'),
        detacher: hostile('detaches-a-grandchild'),
      },
      { limits },
    )
    const client = new RawClient(daemon.url)
    await client.initialize()
    for (const name of ['stubborn', 'parent', 'detacher']) {
      t.equal(textOf(await client.call(name, `${name}__ok`, '{"a":1}')), '{"a":1}')
    }
    const crowds = await Promise.all([1, 2].map(() => crowd(t, daemon.url, SESSIONS / 2)))
    const { sessions, calls } = await daemon.status()
    t.ok(sessions >= SESSIONS && calls >= SESSIONS, `${sessions} sessions, ${calls} calls`)
    for (const child of crowds) child.kill('SIGKILL')
    t.equal(textOf(await client.call('still', 'shared__echo', '{"a":2}')), '{"a":2}')
    const before = daemon.descendants()
    t.ok(before.length >= 7, `${before.length} processes run`)
    daemon.child.kill('SIGKILL')
    const sinceMs = performance.now()
    await until(() => daemon.descendants().length === 0, 'the end of all descendants')
    t.comment(`all were gone after ${Math.round(performance.now() - sinceMs)} ms`)
  },
)

t.test('processes that servers start in their own sessions end with the proxy', { skip }, async t => {
  const daemon = await startDaemon(t, { detacher: hostile('detaches-a-grandchild') })
  const client = new RawClient(daemon.url)
  await client.initialize()
  await client.call(1, 'detacher__ok', '{}')
  t.ok(daemon.descendants().length >= 2)
  client.vanish()
  t.same(await daemon.stop(), { code: 0, left: [] })
})

t.test('a frozen server costs its own calls, and ends with the proxy', { skip }, async t => {
  const frozen = { ...rawServer(), timeouts: { call: '500ms' } }
  const daemon = await startDaemon(t, { good: rawServer(), frozen })
  const [client, neighbour] = [new RawClient(daemon.url), new RawClient(daemon.url)]
  await Promise.all([client.initialize(), neighbour.initialize()])
  const pid = Number(textOf(await client.call('pid', 'frozen__pid')))
  process.kill(pid, 'SIGSTOP')
  const stop = probe(t, neighbour)
  t.match((await client.call('late', 'frozen__echo')).last.message.error, { message: /frozen/ })
  await stop()
  client.vanish()
  neighbour.vanish()
  t.same(await daemon.stop(), { code: 0, left: [] })
  t.notOk(isRunning(pid))
})

t.test('a proxy whose stderr was closed serves on', async t => {
  const daemon = await startDaemon(t, { good: rawServer(), noisy: hostile('floods-stderr') })
  daemon.child.stderr?.destroy()
  const client = new RawClient(daemon.url)
  await client.initialize()
  t.equal(textOf(await client.call(1, 'noisy__bad')), 'right')
  await fetch(daemon.url, { method: 'POST', body: 'nonsense' })
  t.equal(textOf(await client.call(2, 'good__echo', '{"a":1}')), '{"a":1}')
  client.vanish()
  t.same(await daemon.stop(), { code: 0, left: [] })
})

t.test('a disk that is full for logs costs lines, not calls', { skip }, async t => {
  const daemon = await startDaemon(t, { good: rawServer() }, { audit: '/dev/full' })
  const client = new RawClient(daemon.url)
  await client.initialize()
  for (let n = 0; n < 20; n += 1) t.equal(textOf(await client.call(n, 'good__echo', '{"a":1}')), '{"a":1}')
  client.vanish()
  t.equal((await daemon.stop()).code, 0)
})

t.test('who runs out of file descriptors refuses what is new, and recovers', { skip }, async t => {
  const file = configFile(t, { good: rawServer() })
  const running = startBin(t, ['serve', '--config', file, '--port', '0'])
  const url = (await running.line(/listening on http/)).split(' ').at(-1) ?? ''
  const client = new RawClient(url)
  await client.initialize()
  await client.call(0, 'good__echo')
  const pid = running.child.pid ?? 0
  const used = openHandles(pid).length
  await once(spawn('prlimit', ['--pid', String(pid), `--nofile=${used + 20}:${used + 20}`]), 'exit')
  const { hostname: host, port } = new URL(url)
  const { connect } = await import('node:net')
  const sockets = Array.from({ length: 100 }, () =>
    connect({ host, port: Number(port) }).on('error', () => undefined),
  )
  await delay(300)
  for (const socket of sockets) socket.destroy()
  const works = async () => {
    const answer = await client.call('again', 'good__echo', '{"a":1}').catch(() => undefined)
    return answer !== undefined && textOf(answer) === '{"a":1}'
  }
  await until(works, 'an answer once there is room again')
  running.child.kill('SIGTERM')
  t.equal(await running.exited, 0)
})

t.test('the process table contains no secrets of the proxy', { skip }, async t => {
  const daemon = await startDaemon(t, { good: { ...rawServer(), env: { TOKEN: 'hunter2hunter2' } } })
  const client = new RawClient(daemon.url)
  await client.initialize()
  await client.call(1, 'good__echo')
  const lines = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      } catch {
        return []
      }
    })
  t.notOk(lines.some(line => line.includes('hunter2')))
  t.notMatch(daemon.err, /hunter2/)
  client.vanish()
  t.same(await daemon.stop(), { code: 0, left: [] })
})
