import t from 'tap'
import { isErrorId, newErrorId, RUN } from '../../../src/kernel/error-ids.js'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import { FaultLog } from '../../../src/mux/calls/fault-log.js'
import { FakeCall, type FakeClient } from '../../support/client/fake-client.js'
import { recordOf } from '../../support/proxy/records.js'

const setUp = () => {
  const told: object[] = []
  const log = { ...silentLogger, info: (facts: object) => told.push(facts) }
  const faults = new FaultLog({ log, nowMs: () => 100, stateOf: () => 'ready' })
  t.teardown(() => faults.close())
  return { faults, told }
}

t.test('an error is found by its id, with the facts of its call', async t => {
  const { faults, told } = setUp()
  const made = new FakeCall({ id: 3 } as FakeClient, 'tools/call', {}, false)
  const call = recordOf(made, { servedBy: 'a', ownName: 'echo', beganMs: 40, awayMs: 55 })
  const cause = new Fault('disconnected', 'it ended', { stderrTail: ['bye'] })
  const outcome = failed(new Fault('unavailable', 'cannot', { cause }))
  if (outcome.kind !== 'fault') throw new Error('no fault')
  faults.over(outcome, call)
  t.same(told, [], 'no client was told')
  const id = newErrorId(-32603, 'cannot')
  outcome.errorId = id
  faults.over(outcome, call)
  faults.over(succeeded(rawText('{}')), call)
  t.ok(isErrorId(id) && id.startsWith(`${RUN}-`))
  const expected = {
    ...{ id, code: -32603, fault: 'unavailable', server: 'a', name: 'echo', client: 3, ms: 60, awayMs: 55 },
    ...{ state: 'ready', stderr: ['bye'], causes: ['it ended'] },
  }
  t.match(faults.of(id), expected)
  t.match(faults.lastOf('a'), { id })
  t.match(told, [{ errorId: id, server: 'a', method: 'tools/call', name: 'echo' }])
})

t.test('the last thousand errors are kept, and of long ones fewer', async t => {
  const { faults } = setUp()
  const first = newErrorId(1, 'first')
  for (let n = 0; n < 1000; n++) newErrorId(1, 'x')
  t.equal(faults.of(first), undefined)
  t.equal(faults.all.length, 1000)
  for (let n = 0; n < 300; n++) newErrorId(1, 'x'.repeat(10_000))
  t.ok(faults.all.length < 200, String(faults.all.length))
})
