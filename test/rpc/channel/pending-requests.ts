import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { PendingRequests } from '../../../src/rpc/channel/pending-requests.js'

const sink = () => ({ progress: () => undefined, ended: () => undefined })

t.test('an answer closes exactly the request that it names, once', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 60 }), (count, named) => {
      const pending = new PendingRequests()
      const sinks = Array.from({ length: count }, sink)
      for (const [index, one] of sinks.entries()) pending.open.set(index + 1, one)
      assert.equal(pending.take(textOf(named)), sinks[named - 1])
      assert.equal(pending.take(textOf(named)), undefined)
      assert.equal(pending.open.size, named <= count ? count - 1 : count)
    }),
  )
})

t.test(
  'an id is matched by its number in any spelling or its decimal string, and by nothing looser',
  async t => {
    const pending = new PendingRequests()
    const one = sink()
    pending.open.set(7, one)
    for (const same of ['7', '"7"', '"\\u0037"', '7.0', '7e0', '70e-1'])
      t.equal(pending.find(rawText(same)), one, same)
    const others = ['"7.0"', '"07"', '7.5', 'null', '-7', '"7 "', '"+7"', '[7]', '{"7":7}', 'true', '""', '0']
    for (const other of others) t.equal(pending.take(rawText(other)), undefined, other)
    t.equal(pending.take(undefined), undefined)
    t.equal(pending.open.size, 1)
  },
)

t.test('an id that is a text is matched by that text alone', async t => {
  const pending = new PendingRequests()
  const [probe, seven] = [sink(), sink()]
  pending.open.set('probe-x', probe)
  pending.open.set(7, seven)
  for (const other of ['"probe-"', 'probe', '"PROBE-X"', '7.5'])
    t.equal(pending.take(rawText(other)), undefined, other)
  t.equal(pending.take(rawText('"probe-\\u0078"')), probe)
  t.equal(pending.take(rawText('"probe-x"')), undefined)
  t.equal(pending.take(rawText('7')), seven)
})

t.test('draining hands over every open request once', async t => {
  const pending = new PendingRequests()
  const sinks = [sink(), sink()]
  for (const [index, one] of sinks.entries()) pending.open.set(index + 1, one)
  t.same(pending.drain(), sinks)
  t.same(pending.drain(), [])
  t.notOk(pending.open.has(1))
})
