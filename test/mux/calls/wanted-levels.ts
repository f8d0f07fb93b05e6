import t from 'tap'
import { rankOf } from '../../../src/model/log-level.js'
import { WantedLevels } from '../../../src/mux/calls/wanted-levels.js'
import type { Connection } from '../../../src/peers/connection.js'
import { FakeClient } from '../../support/client/fake-client.js'

const nobody = undefined as never
const session = () => new FakeClient(nobody)
const connection = () => ({}) as Connection

t.test('a connection has the most verbose level of the sessions that use it at the moment', async t => {
  const levels = new WantedLevels()
  const [one, other] = [connection(), connection()]
  const [alice, bob] = [session(), session()]
  levels.set(alice, rankOf('error'), [])
  t.equal(levels.lowestOn(one), undefined, 'she does not use it yet')
  levels.joined(one, alice)
  levels.joined(one, bob)
  levels.joined(other, bob)
  t.equal(levels.lowestOn(one), rankOf('error'))
  t.equal(levels.lowestOn(other), undefined)
  levels.set(bob, rankOf('debug'), [one, other])
  t.equal(levels.lowestOn(one), rankOf('debug'))
  t.equal(levels.lowestOn(other), rankOf('debug'))
  levels.set(bob, rankOf('emergency'), [one, other])
  t.equal(levels.lowestOn(one), rankOf('error'))
  levels.parted(one, alice)
  t.equal(levels.lowestOn(one), rankOf('emergency'))
  levels.parted(one, bob)
  t.equal(levels.lowestOn(one), undefined)
  levels.forget(bob)
  t.equal(levels.of(bob), undefined)
})

t.test('only sessions count among the clients without a level', async t => {
  const levels = new WantedLevels()
  const one = connection()
  const alice = session()
  levels.joined(one, new FakeClient(nobody, { revision: '2026-07-28' }))
  t.notOk(levels.hasUnset(one))
  levels.joined(one, alice)
  t.ok(levels.hasUnset(one))
  levels.set(alice, rankOf('info'), [one])
  t.notOk(levels.hasUnset(one))
})
