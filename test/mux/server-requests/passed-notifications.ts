import t from 'tap'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import { tool } from '../../support/values.js'

const timeouts = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 20_000 }

t.test('an unknown request with notifications of its own has no total limit, others do', async t => {
  for (const isStream of [true, false]) {
    const world = new World({ a: { tools: [tool('x')], options: { timeouts } } }, { isAlone: true })
    const client = await world.client()
    await client.get('tools/list')
    const call = client.call('vendor/stream', {}, { wantsProgress: true })
    await settled()
    const { link } = world.server('a')
    const request = world.server('a').last('vendor/stream')
    if (isStream) link.notice('notifications/vendor/event', { n: 1 }, request)
    for (let n = 0; n < 6; n += 1) {
      await world.pass(5000, 250)
      request.progress(n)
    }
    t.equal(call.ends.length, isStream ? 0 : 1, isStream ? 'a subscription' : 'a slow request')
    await world.pass(11_000, 250)
    t.match(call.ended, { code: -32603, message: /Timed out/ }, 'its server must not be silent')
  }
})

t.test('an unknown request is sent after a list that the proxy reads for itself', async t => {
  const world = new World({ a: { tools: [tool('x')], revision: '2026-07-28' } }, { isAlone: true })
  const server = world.server('a')
  const client = world.modern()
  await client.get('tools/list')
  server.silent.add('tools/list')
  server.link.notice('notifications/tools/list_changed')
  await world.pass(2000, 50)
  const call = client.call('vendor/do')
  await settled()
  t.same(server.got('vendor/do'), [])
  server.last('tools/list').answer({ tools: [] })
  await settled()
  server.last('vendor/do').answer({ ok: 1 })
  t.match(call.ended, { result: { ok: 1 } })
})
