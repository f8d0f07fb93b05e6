import t from 'tap'
import { silentLogger } from '../../src/kernel/logger.js'
import type { ServerOptions } from '../../src/peers/dial.js'
import { ServerPool } from '../../src/peers/server-pool.js'
import { FakeClient } from '../support/client/fake-client.js'
import { FakeClock } from '../support/fake-clock.js'
import { World } from '../support/proxy/router.js'
import { deafListener } from '../support/server/deaf-listener.js'
import { FakeServer } from '../support/server/fake-server.js'
import { boundsOf } from '../support/values.js'

const nobody = new World({}).router
t.teardown(() => nobody.close())

/** A pool with one server at which each principal signs in, for two of them at a time. */
const create = () => {
  const { options } = new FakeServer('github', {
    tools: [],
    options: { isPerPrincipal: true, sharing: 'session' },
  })
  const forgotten: ServerOptions[] = []
  const bounds = boundsOf({ principalsPerServer: 2 })
  const pool = new ServerPool([options], {
    dial: () => new Promise(() => undefined),
    listener: deafListener,
    clock: new FakeClock(),
    log: silentLogger,
    bounds,
    onForgotten: server => forgotten.push(server),
  })
  const [github] = pool.servers
  if (github === undefined) throw new Error('there is no server')
  return { pool, github, forgotten, bounds }
}

t.test('each principal has its own server, and anonymous clients have none', async t => {
  const { pool, github } = create()
  const [alice, bob] = [pool.ownedBy(github, 'person alice'), pool.ownedBy(github, 'person bob')]
  t.ok(alice && bob)
  t.not(alice, bob)
  t.equal(pool.ownedBy(github, 'person alice'), alice)
  t.match(alice?.options, { name: 'github', isPerPrincipal: false, owned: { owner: 'person alice' } })
  t.equal(pool.ownedBy(github, 'anonymous 192.0.2.7'), undefined)
  await pool.close()
})

t.test('of too many principals the one that was away for longest makes room, or there is none', async t => {
  const { pool, github, forgotten, bounds } = create()
  const alice = pool.ownedBy(github, 'person alice')
  const bob = pool.ownedBy(github, 'person bob')
  pool.ownedBy(github, 'person alice')
  t.ok(pool.ownedBy(github, 'person carol'))
  t.same(forgotten, [bob?.options], 'alice came back later than bob')
  const clients = ['person alice', 'person carol'].map(principal => new FakeClient(nobody, { principal }))
  for (const client of clients) pool.ownedBy(github, client.caller.principal)?.connectionFor(client)
  t.equal(pool.ownedBy(github, 'person bob'), undefined, 'both are here')
  t.equal(bounds.hits.principalsPerServer?.hits, 1)
  for (const client of clients) pool.release(client)
  t.ok(pool.ownedBy(github, 'person bob'))
  t.same(forgotten, [bob?.options, alice?.options])
  await pool.close()
})
