import t from 'tap'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { AuditEntry } from '../../../src/mux/calls/audit.js'
import { AuditRecords } from '../../../src/telemetry/audit/audit-records.js'
import { FakeClock } from '../../support/fake-clock.js'
import { Collector } from '../../support/server/collector.js'

t.test('each line is a log record, and refusals, changed tools and faults stand out', async t => {
  const collector = new Collector()
  const endpoint = await collector.start(t)
  const clock = new FakeClock()
  const records = new AuditRecords(
    { endpoint, headers: {}, protocol: 'http/json' },
    { clock, log: silentLogger },
  )
  const entry = (about: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
    ...{ about, time: new Date(1000), facts: {}, isKept: false },
    ...more,
  })
  const facts = { method: 'tools/call', name: 'a__x', principal: 'local', server: 'a', outcome: 'denied' }
  const trace = { trace_id: 'a'.repeat(32) }
  const approval = { id: 'k', by: 'ann' }
  records.add(
    entry('call', {
      facts: { ...facts, ...trace, decision: 'deny', rule: 'r', approval },
      isKept: true,
      isFault: true,
      spanId: 'b'.repeat(16),
    }),
    '{"n":1}',
  )
  records.add(
    entry('call', { facts: { method: 'prompts/get', name: 'p', outcome: 'timeout' }, isFault: true }),
    '2',
  )
  records.add(entry('lock', { isKept: true }), '3')
  records.add(entry('approval', { isKept: true, facts: { event: 'asked', id: 'k' } }), '4')
  await records.close()
  const sent = JSON.parse(collector.posts[0]?.body.toString() ?? '{}')
  t.equal(collector.posts[0]?.path, '/v1/logs')
  const found = sent.resourceLogs[0].scopeLogs[0].logRecords as Record<string, unknown>[]
  const shown = found.map(({ attributes, ...rest }) => ({
    ...rest,
    attributes: Object.fromEntries(
      (attributes as { key: string; value: { stringValue: string } }[]).map(({ key, value }) => [
        key,
        value.stringValue,
      ]),
    ),
  }))
  t.match(shown, [
    {
      ...{ severityNumber: 13, eventName: 'mcp_proxy.audit.call', body: { stringValue: '{"n":1}' } },
      ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), timeUnixNano: '1000000000', flags: 1 },
      attributes: {
        ...{
          'mcp.method.name': 'tools/call',
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'a__x',
        },
        ...{
          'error.type': 'denied',
          'user.id': 'local',
          'mcp_proxy.server': 'a',
          'mcp_proxy.decision': 'deny',
        },
        ...{ 'mcp_proxy.rule': 'r', 'mcp_proxy.outcome': 'denied' },
        ...{ 'mcp_proxy.approval.id': 'k', 'mcp_proxy.approval.by': 'ann' },
      },
    },
    { severityNumber: 17, attributes: { 'gen_ai.prompt.name': 'p', 'error.type': 'timeout' } },
    { severityNumber: 13, eventName: 'mcp_proxy.audit.lock' },
    { severityNumber: 9, attributes: { 'mcp_proxy.approval.id': 'k' } },
  ])
})

t.test('a collector that does not answer costs lines, refusals last', async t => {
  const collector = new Collector()
  const endpoint = await collector.start(t)
  collector.answer = undefined
  let dropped = 0
  const meter = {
    counter: () => ({
      add: (count: number): void => {
        dropped += count
      },
    }),
  }
  const records = new AuditRecords(
    { endpoint, headers: {}, protocol: 'http/protobuf' },
    { clock: new FakeClock(), log: silentLogger, meter: meter as never },
  )
  const entry = (isKept: boolean): AuditEntry => ({ about: 'call', time: new Date(0), facts: {}, isKept })
  const add = async (count: number, isKept: boolean) => {
    for (let n = 0; n < count; n += 1) records.add(entry(isKept), '{}')
    await new Promise(setImmediate)
  }
  await new Promise(setImmediate)
  await add(512, false)
  await collector.posted(1)
  await add(2048, false)
  t.equal(dropped, 0)
  await add(10, false)
  t.equal(dropped, 10)
  await add(1024, true)
  t.equal(dropped, 10)
  await add(5, true)
  t.equal(dropped, 15)
})
