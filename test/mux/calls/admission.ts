import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import type { Limits } from '../../../src/kernel/limits.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { succeeded } from '../../../src/model/outcome.js'
import { Admission } from '../../../src/mux/calls/admission.js'
import { FakeCall, type FakeClient } from '../../support/client/fake-client.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { FakeHandler } from '../../support/proxy/listeners.js'
import { boundsOf } from '../../support/values.js'

const ENDED = succeeded(textOf({}))

const setUp = (limits: Partial<Limits> = {}) => {
  const clock = new FakeClock()
  const behind = new FakeHandler()
  const gate = new Admission(behind, clock, boundsOf(limits))
  const call = (method = 'tools/call', params?: object) => {
    const made = new FakeCall({} as FakeClient, method, params, false)
    gate.handler.call(made)
    return made
  }
  const shut = (limitMs: number) => {
    const result: { left?: number } = {}
    void gate.shut(limitMs).then(left => {
      result.left = left
    })
    return result
  }
  return { clock, behind, gate, call, shut }
}

t.test('a closed gate accepts no call, and waits for the calls inside', async t => {
  const { clock, behind, gate, call, shut } = setUp()
  const [first, second] = [call(), call('tools/list')]
  t.equal(gate.inside, 2)
  const result = shut(10_000)
  t.ok(gate.isShut)
  const late = call()
  t.match(late.ended, { code: -32603, message: 'The proxy is shutting down' })
  t.equal(behind.calls.length, 2)
  first.end(ENDED)
  first.end(ENDED)
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
    const callLog = { slowMs: () => slowMs, isEach: () => isEach, log }
    const gate = new Admission(new FakeHandler(), clock, boundsOf({}), { callLog })
    const run = (method: string, ms: number): void => {
      const call = new FakeCall(
        { id: 7, sessionId: 'a key' } as unknown as FakeClient,
        method,
        { name: 'secret words' },
        false,
      )
      gate.handler.call(call)
      clock.advance(ms)
      call.end(ENDED)
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
  call().end(ENDED)
  const result = shut(10_000)
  await settled()
  t.equal(result.left, 0)
})

t.test('everything but calls passes', async t => {
  const { behind, gate } = setUp()
  const client = {} as FakeClient
  void gate.shut(0)
  await gate.handler.welcome(client)
  gate.handler.notified(client, 'x', undefined)
  gate.handler.idle(client)
  gate.handler.left(client)
  behind.schemas.set('a', textOf({}))
  t.ok(gate.handler.tool(client, 'a'))
  t.same([behind.clients, behind.notices, behind.rested, behind.gone], [[client], ['x'], [client], [client]])
})

t.test(
  'requests that are too long together are refused until others are over; short ones always pass',
  async t => {
    const { behind, call, gate } = setUp({ inbound: 100_000 })
    const long = { name: 'x', arguments: { text: 'x'.repeat(30_000) } }
    const first = call('tools/call', long)
    const second = call('tools/call', long)
    t.match(second.ended, { code: -32603, message: /limits\.inbound/ })
    t.notOk(call('tools/call', { name: 'x' }).isOver)
    t.equal(gate.inside, 2)
    first.end(ENDED)
    t.notOk(call('tools/call', long).isOver)
    t.equal(behind.calls.length, 3)
  },
)
