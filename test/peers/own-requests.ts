import t from 'tap'
import { LATE_MAX, LATE_MS, OwnRequests } from '../../src/peers/own-requests.js'
import { FakeClient } from '../support/client/fake-client.js'

const nobody = undefined as never
const session = () => new FakeClient(nobody)
const sessionless = () => new FakeClient(nobody, { revision: '2026-07-28', via: 'http' })

t.test('requests on behalf of one client belong to it, all others to no client', async t => {
  const [alice, bob, carol] = [session(), session(), sessionless()]
  for (const [clients, isAlices] of [
    [[alice], true],
    [[], false],
    [[alice, bob], false],
    [[carol], false],
  ] as const) {
    const requests = new OwnRequests()
    const request = requests.on(clients)
    t.equal(requests.party(0), undefined, 'it is not sent yet')
    request.began()
    t.equal(requests.party(0) === alice.id, isAlices)
    t.ok([alice, bob, carol].every(({ id }) => isAlices || requests.party(0) !== id))
    request.ended()
    t.equal(requests.party(0), undefined)
  }
})

t.test('a request that a second client waits for belongs to neither of the two', async t => {
  const [alice, bob] = [session(), session()]
  const requests = new OwnRequests()
  const request = requests.on([alice])
  request.began()
  request.join(alice)
  t.equal(requests.party(0), alice.id)
  request.join(bob)
  t.not(requests.party(0), alice.id)
  t.not(requests.party(0), bob.id)
  request.ended()
  t.equal(requests.party(0), undefined)
})

t.test(
  'requests of two clients belong to several clients, until one client’s requests are answered',
  async t => {
    const [alice, bob] = [session(), session()]
    const requests = new OwnRequests()
    const [hers, his] = [requests.on([alice]), requests.on([bob])]
    hers.began()
    his.began()
    t.equal(requests.party(0), 'several')
    const late = hers.cancelled(0)
    t.equal(requests.party(LATE_MS - 1), 'several')
    late()
    late()
    t.equal(requests.party(0), bob.id)
    his.cancelled(0)
    t.equal(requests.party(LATE_MS - 1), bob.id)
    t.equal(requests.party(LATE_MS), undefined)
  },
)

t.test('with more cancelled requests than are told apart, their parties count as several', async t => {
  const requests = new OwnRequests()
  const request = requests.on([session()])
  for (let n = 0; n < LATE_MAX; n += 1) {
    request.began()
    request.cancelled(0)
  }
  t.not(requests.party(0), 'several')
  request.began()
  request.cancelled(1)()
  t.equal(requests.party(LATE_MS), 'several')
  t.equal(requests.party(LATE_MS + 1), undefined)
  request.began()
  request.cancelled(LATE_MS)
  requests.lost()
  t.equal(requests.party(LATE_MS), undefined)
})

t.test('the end of the last request for no client alone is awaited', async t => {
  const [alice, bob] = [session(), session()]
  const requests = new OwnRequests()
  const [hers, shared, refresh] = [requests.on([alice]), requests.on([alice]), requests.on([])]
  hers.began()
  t.equal(requests.noneUnowned(), undefined)
  shared.began()
  refresh.began()
  shared.join(bob)
  let isOver = false
  void requests.noneUnowned()?.then(() => {
    isOver = true
  })
  for (const each of [shared, refresh]) {
    await Promise.resolve()
    t.equal(isOver, false)
    each.ended()
  }
  await Promise.resolve()
  t.equal(isOver, true)
  t.equal(requests.noneUnowned(), undefined)
})
