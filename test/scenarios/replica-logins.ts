import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { configFile, type Daemon, runHere, STATE_HOME, startDaemon } from '../support/proxy/start.js'
import { noRedis, startRedis } from '../support/redis.js'
import { BROWSER, canBrowse, LoginServer } from '../support/server/login-server.js'

process.env['BROWSER'] = BROWSER

const skip = noRedis === false && !canBrowse ? 'no program could be the browser here' : noRedis

t.test('replicas renew the token of a login once for all of them', { skip }, async t => {
  const [redis, server] = await Promise.all([startRedis(t), LoginServer.start(t)])
  const servers = { linear: { url: server.mcpUrl } }
  const login = await runHere(t, 'auth', 'login', 'linear', '--config', configFile(t, servers))
  t.equal(login.code, 0)
  const cluster = {
    ...{ url: redis.url, keys: [randomBytes(32).toString('base64')], lease: '2s', linger: '1s' },
    peer: { listen: '127.0.0.1:0' },
  }
  const all: Daemon[] = []
  for (const home of [STATE_HOME, ...['a', 'b'].map(name => mkdtempSync(join(STATE_HOME, name)))]) {
    process.env['XDG_STATE_HOME'] = home
    all.push(await startDaemon(t, servers, { cluster, knownServers: false }))
  }
  process.env['XDG_STATE_HOME'] = STATE_HOME
  t.teardown(async () => {
    for (const one of all) if (one.child.exitCode === null && one.child.signalCode === null) await one.stop()
  })
  const clients = await Promise.all(
    all.map(async ({ url }) => {
      const raw = new RawClient(url)
      await raw.initialize()
      return raw
    }),
  )
  const look = async (raw: RawClient | undefined, id: string | number): Promise<string | undefined> => {
    const { result, error } = (await raw?.call(id, 'linear__look'))?.last.message ?? {}
    return result?.content?.[0]?.text ?? error?.data?.reason
  }
  const refreshes = (): number =>
    server.to('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token').length

  for (const raw of clients)
    await until(async () => (await look(raw, 'first')) === 'did look', 'a login that all know')
  t.equal(refreshes(), 0)

  server.expire()
  const looks = await Promise.all(Array.from({ length: 51 }, (_, n) => look(clients[n % 3], n)))
  t.same([...new Set(looks)], ['did look'])
  t.equal(refreshes(), 1)

  let isStuck = false
  server.answers.set('/token', async () => {
    if (isStuck) return undefined
    isStuck = true
    return await new Promise(() => undefined)
  })
  server.expire()
  void look(clients[0], 'stuck').catch(() => undefined)
  await until(() => isStuck, 'a replica that is busy with it')
  const others = [1, 2].map(n => look(clients[n], 'other'))
  all[0]?.child.kill('SIGKILL')
  t.same(await Promise.all(others), ['did look', 'did look'])
  t.equal(refreshes(), 3, 'another one does it for whoever was killed')

  redis.child.kill('SIGKILL')
  server.expire()
  t.same(await Promise.all([1, 2].map(n => look(clients[n], 'down'))), Array(2).fill('auth-unreachable'))
  t.equal(refreshes(), 3, 'nobody does without knowing what the others do')
})
