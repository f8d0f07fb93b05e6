import t from 'tap'
import { Heartbeat } from '../../../../src/eras/legacy/server-side/heartbeat.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { rawText } from '../../../../src/kernel/json/text.js'
import { silentLogger } from '../../../../src/kernel/logger.js'
import type { CallSink } from '../../../../src/model/links.js'
import { failed, succeeded } from '../../../../src/model/outcome.js'
import type { Conversation } from '../../../../src/rpc/channel/conversation.js'
import { FakeClock } from '../../../support/fake-clock.js'

/** A conversation of which only what a heartbeat uses exists. */
const start = () => {
  const clock = new FakeClock()
  const pings: CallSink[] = []
  const state = { isBusy: false, receivedCount: 0, closed: 0 }
  const talk = {
    get isBusy() {
      return state.isBusy
    },
    get receivedCount() {
      return state.receivedCount
    },
    nextId: () => pings.length + 1,
    request: (_id: number, method: string, _params: undefined, sink: CallSink) => {
      t.equal(method, 'ping')
      pings.push(sink)
    },
    forget: () => undefined,
    close: async () => {
      state.closed += 1
    },
  } as unknown as Conversation
  return { clock, pings, state, heart: new Heartbeat(talk, { clock, log: silentLogger, pingMs: 30_000 }) }
}

t.test('a silent server is pinged every 30 s and given up after two misses', async t => {
  const { clock, pings, state } = start()
  clock.advance(29_000)
  t.equal(pings.length, 0)
  clock.advance(1000)
  t.equal(pings.length, 1)
  clock.advance(30_000)
  t.equal(pings.length, 2)
  t.equal(state.closed, 0)
  clock.advance(10_000)
  t.equal(state.closed, 1)
  clock.advance(120_000)
  t.equal(pings.length, 2, 'nothing more is asked of it')
})

t.test('any answer, also an error, is a sign of life', async t => {
  const { clock, pings, state } = start()
  for (const outcome of [
    succeeded(rawText('{}')),
    { kind: 'error', error: rawText('{"code":-32603,"message":"no"}') } as const,
    failed(new Fault('overloaded', 'behind')),
  ]) {
    clock.advance(60_000)
    pings.at(-1)?.ended(outcome)
  }
  clock.advance(15_000)
  t.equal(state.closed, 0)
})

t.test('a server that does not know pings is not asked again, and not given up', async t => {
  const { clock, pings, state } = start()
  clock.advance(30_000)
  pings.at(-1)?.ended({ kind: 'error', error: rawText('{"code":-32601,"message":"Method not found"}') })
  clock.advance(300_000)
  t.equal(pings.length, 1)
  t.equal(state.closed, 0)
})

t.test('a server that talks, or owes an answer, is left alone', async t => {
  const { clock, pings, state } = start()
  state.isBusy = true
  clock.advance(300_000)
  t.equal(pings.length, 0, 'it may be busy for as long as its request may take')
  state.isBusy = false
  for (let n = 0; n < 5; n += 1) {
    clock.advance(15_000)
    state.receivedCount += 1
    clock.advance(15_000)
  }
  t.equal(pings.length, 0)
})

t.test('a server that is busy with a request may leave earlier pings unanswered', async t => {
  const { clock, state } = start()
  clock.advance(69_000)
  state.isBusy = true
  clock.advance(30 * 60_000)
  t.equal(state.closed, 0)
  state.isBusy = false
  clock.advance(30_000 + 10_000)
  t.equal(state.closed, 1, 'an idle one may not')
})

t.test('a heartbeat that was stopped asks nothing', async t => {
  const { clock, pings, heart } = start()
  heart.stop()
  clock.advance(300_000)
  t.equal(pings.length, 0)
})
