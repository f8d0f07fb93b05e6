import t from 'tap'
import { rawText } from '../../../../src/kernel/json/text.js'
import type { Client } from '../../../../src/model/links.js'
import { succeeded } from '../../../../src/model/outcome.js'
import { CallHistory } from '../../../../src/mux/calls/counting/call-history.js'
import { Durations, Slots } from '../../../../src/mux/calls/counting/durations.js'
import { FakeCall, type FakeClient } from '../../../support/client/fake-client.js'
import { recordOf } from '../../../support/proxy/records.js'

const OK = succeeded(rawText('{}'))

const callOf = (tool: string) =>
  recordOf(new FakeCall({ id: 1 } as FakeClient, 'tools/call', {}, false), { servedBy: 'a', ownName: tool })

t.test('quantiles cover the last durations', async t => {
  const durations = new Durations()
  t.equal(durations.quantile(0.5), undefined)
  for (let ms = 1; ms <= 300; ms++) durations.add(ms, ms, false)
  t.equal(durations.quantile(0.5), 172)
  t.equal(durations.quantile(0.99), 298)
  t.equal(durations.quantile(1), 300)
})

t.test('slots move on as time goes by, and forget what is ten minutes old', async t => {
  const slots = new Slots()
  slots.add(5_000_000, 10, false)
  slots.add(5_000_001, 30, true)
  t.match(slots.read(5_000_002).at(-1), { calls: 2, errors: 1, sumMs: 40, longestMs: 30 })
  t.match(slots.read(5_010_002).at(-2), { calls: 2 })
  t.match(slots.read(5_010_002).at(-1), { calls: 0 })
  t.equal(
    slots.read(5_600_001).reduce((sum, { calls }) => sum + calls, 0),
    0,
  )
})

t.test('the last 512 calls, the last tools and the calls in flight are remembered', async t => {
  const history = new CallHistory()
  for (let n = 0; n < 600; n++) {
    const call = callOf(`tool-${n}`)
    history.began(call)
    history.over(call, OK, 1, 1000 + n)
  }
  const open = callOf('x')
  history.began(open)
  t.same([...history.inFlight], [open])
  t.equal(history.recent().length, 512)
  t.equal(history.recent()[0]?.n, 89)
  t.equal(history.recent().at(-1)?.n, 600)
  t.equal(history.durationsOf('a', 'tool-0'), undefined)
  t.equal(history.durationsOf('a', 'tool-599')?.calls, 1)
  t.ok(history.slotsOf('a'))
  history.retain(new Set())
  t.equal(history.slotsOf('a'), undefined)
  const before = history.recent(599)
  t.match(before, [{ n: 600, name: 'tool-599', endedMs: 1599, ms: 1 }])
  for (let n = 0; n < 512; n++) history.over(callOf('other'), OK, 1, 2000)
  t.match(before, [{ n: 600, name: 'tool-599' }], 'what was read does not change')
  t.equal(history.last, 1112)
  t.same(history.recent(1112), [])
  const long = callOf('y'.repeat(1000))
  history.over(long, undefined, 1, 2000)
  t.match(history.recent().at(-1), { name: 'y'.repeat(256), outcome: 'cancelled' })
  history.over(callOf(`${'y '.repeat(120)}ghp_0123456789abcdefghijklmnopqrstuvwxyz`), undefined, 1, 2000)
  t.notMatch(history.recent().at(-1)?.name, 'ghp_')
})

t.test('requests that fail before a server is found are counted, and clients that left have names', t => {
  const history = new CallHistory()
  const call = callOf('x')
  Object.assign(call, { servedBy: undefined })
  history.began(call)
  history.over(call, undefined, 5, 1000)
  t.equal(
    history.refused.read(1000).reduce((sum, { errors }) => sum + errors, 0),
    1,
  )
  for (let id = 1; id <= 600; id += 1)
    history.clientLeft({ id, info: rawText(`{"name":"client-${id}"}`) } as Client)
  t.equal(history.nameOfLeft(600), 'client-600')
  t.equal(history.nameOfLeft(1), undefined, 'the oldest go')
  t.end()
})
