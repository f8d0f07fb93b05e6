import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import type { Limits } from '../../../src/kernel/limits.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { succeeded } from '../../../src/model/outcome.js'
import { Admission } from '../../../src/mux/calls/admission.js'
import { logCalls } from '../../../src/mux/calls/call-facts.js'
import type { CallRecord } from '../../../src/mux/calls/call-record.js'
import { FakeCall, type FakeClient } from '../../support/client/fake-client.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { begin, recordOf } from '../../support/proxy/records.js'
import { boundsOf } from '../../support/values.js'

const ENDED = succeeded(textOf({}))

const setUp = (limits: Partial<Limits> = {}) => {
  const clock = new FakeClock()
  const gate = new Admission(clock, boundsOf(limits))
  const admitted: CallRecord[] = []
  const call = (method = 'tools/call', params?: object) => {
    const made = new FakeCall({} as FakeClient, method, params, false)
    const record = begin(made, gate.interceptors, { served: one => admitted.push(one) })
    return Object.assign(made, { settle: () => record.end(ENDED) })
  }
  const shut = (limitMs: number) => {
    const result: { left?: number } = {}
    void gate.shut(limitMs).then(left => {
      result.left = left
    })
    return result
  }
  return { clock, admitted, gate, call, shut }
}

t.test('a closed gate accepts no call, and waits for the calls inside', async t => {
  const { clock, admitted, gate, call, shut } = setUp()
  const [first, second] = [call(), call('tools/list')]
  t.equal(gate.inside, 2)
  const result = shut(10_000)
  t.ok(gate.isShut)
  const late = call()
  t.match(late.ended, { code: -32603, message: 'The proxy is shutting down' })
  t.equal(admitted.length, 2)
  first.settle()
  first.settle()
  clock.advance(9999)
  await settled()
  t.equal(result.left, undefined)
  second.cancel()
  await settled()
  t.equal(result.left, 0)
  t.equal(clock.pending, 0)
})

t.test(
  'what took longer than it should is said, once it is over; all calls only at the debug level',
  async t => {
    const clock = new FakeClock()
    const said: object[] = []
    const told: object[] = []
    const log = {
      ...silentLogger,
      warn: (facts: object) => said.push(facts),
      debug: (facts: object) => told.push(facts),
    }
    let slowMs = Number.POSITIVE_INFINITY
    let isEach = false
    const run = (method: string, ms: number): void => {
      const call = new FakeCall(
        { id: 7, sessionId: 'a key' } as unknown as FakeClient,
        method,
        { name: 'secret words' },
        false,
      )
      const record = recordOf(call, { beganMs: clock.nowMs() }, logCalls({ log, clock, slowMs, isEach }))
      clock.advance(ms)
      record.end(ENDED)
    }
    run('tools/call', 5000)
    slowMs = 1000
    run('tools/call', 1000)
    run('subscriptions/listen', 5000)
    run('tools/call', 1001)
    t.match(said, [{ client: 7, method: 'tools/call', ms: 1001 }])
    t.equal(said.length, 1)
    t.same(told, [])
    isEach = true
    run('tools/call', 5)
    t.match(told, [{ client: 7, session: /^[\w-]{16}$/, method: 'tools/call', ms: 5, outcome: 'ok' }])
    t.equal(told.length, 1, 'while everything is logged each of them is told')
  },
)

t.test('calls that exceed their time are counted', async t => {
  const { clock, call, shut } = setUp()
  call()
  const result = shut(10_000)
  clock.advance(10_000)
  await settled()
  t.equal(result.left, 1)
})

t.test('an empty gate does not wait; an endless stream does not count', async t => {
  const { call, shut } = setUp()
  call('subscriptions/listen')
  call().settle()
  const result = shut(10_000)
  await settled()
  t.equal(result.left, 0)
})

t.test(
  'requests that are too long together are refused until others are over; short ones always pass',
  async t => {
    const { admitted, call, gate } = setUp({ inbound: 100_000 })
    const long = { name: 'x', arguments: { text: 'x'.repeat(30_000) } }
    const first = call('tools/call', long)
    const second = call('tools/call', long)
    t.match(second.ended, { code: -32603, message: /limits\.inbound/ })
    t.notOk(call('tools/call', { name: 'x' }).isOver)
    t.equal(gate.inside, 2)
    first.settle()
    t.notOk(call('tools/call', long).isOver)
    t.equal(admitted.length, 3)
  },
)
