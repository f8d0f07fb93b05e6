import t from 'tap'
import { Fault } from '../../../../src/kernel/faults.js'
import { textOf } from '../../../../src/kernel/json/text.js'
import { Histogram } from '../../../../src/kernel/series.js'
import { failed, type Outcome, succeeded } from '../../../../src/model/outcome.js'
import type { CallRecord } from '../../../../src/mux/calls/call-record.js'
import { CallMeter } from '../../../../src/mux/calls/counting/call-meter.js'
import { Metrics } from '../../../../src/telemetry/metrics/registry.js'
import { FakeCall, type FakeClient } from '../../../support/client/fake-client.js'
import { FakeClock } from '../../../support/fake-clock.js'
import { recordOf } from '../../../support/proxy/records.js'

const OK = succeeded(textOf({}))
const BAD: Outcome = { kind: 'result', result: textOf({}), isError: true }
const error = (code: number): Outcome => ({ kind: 'error', error: textOf({ code, message: 'no' }) })

const setUp = ({ series = 2000, ...options }: { series?: number; hasToolHistograms?: boolean } = {}) => {
  const clock = new FakeClock()
  const meter = new Metrics({ series, clock })
  const listed = new Set(['echo'])
  const calls = new CallMeter({
    ...{ meter, clock, hasToolHistograms: false, ...options },
    isListed: (_viewer, exposed, server, own) => exposed === `${server}__${own}` && listed.has(own),
  })
  const call = (method = 'tools/call', params: object = { name: 'a__echo' }): CallRecord =>
    recordOf(new FakeCall({} as FakeClient, method, params, false), { beganMs: clock.nowMs() })
  const atServer = (own = 'echo'): CallRecord => {
    const made = call('tools/call', { name: `a__${own}` })
    made.servedBy = 'a'
    made.ownName = own
    return made
  }
  /** From the values of the labels to how many there were. */
  const counts = (family: Parameters<Metrics['samples']>[0]) =>
    Object.fromEntries(
      meter
        .samples(family)
        .map(({ labels, value }) => [
          labels.join(' ').trim(),
          value instanceof Histogram ? value.counts.reduce((sum, one) => sum + one, 0) : value,
        ])
        .filter(([, value]) => value !== 0),
    )
  return { clock, meter, calls, call, atServer, counts, listed }
}

t.test('an outcome is counted on both sides, and a client’s fault is not an error of the server', async t => {
  const rows: readonly (readonly [Outcome | undefined, server: string, client: string])[] = [
    [OK, '', ''],
    [BAD, 'tool_error', 'tool_error'],
    [{ kind: 'input', result: textOf({}) }, '', ''],
    [undefined, 'cancelled', 'cancelled'],
    [error(-32603), '-32603 -32603', '-32603 -32603'],
    [error(-32602), ' -32602', '-32602 -32602'],
    [error(-32601), ' -32601', '-32601 -32601'],
    [error(-32002), ' -32002', '-32002 -32002'],
    [error(4711), '_OTHER _OTHER', '_OTHER _OTHER'],
    [failed(new Fault('timeout', 'late')), 'timeout -32603', 'timeout -32603'],
    [failed(new Fault('invalid-params', 'bad')), ' -32602', 'invalid-params -32602'],
  ]
  for (const [outcome, server, client] of rows) {
    const { calls, atServer, counts } = setUp()
    const call = atServer()
    calls.served(call, 'a', outcome, 1)
    calls.over(call, outcome)
    t.same(counts('mcp_server_operation_duration_seconds'), { [`tools/call ${server}`.trimEnd()]: 1 })
    t.same(counts('mcp_client_operation_duration_seconds'), { [`a tools/call ${client}`.trimEnd()]: 1 })
  }
})

t.test('calls of tools are told apart by how they ended; a round of questions ends none', async t => {
  const { calls, atServer, counts } = setUp()
  for (const outcome of [OK, OK, BAD, error(1), failed(new Fault('timeout', 'late')), undefined])
    calls.over(atServer(), outcome)
  calls.over(atServer(), { kind: 'input', result: textOf({}) })
  t.same(counts('mcp_proxy_tool_calls'), {
    'a echo ok': 2,
    'a echo tool_error': 1,
    'a echo error': 1,
    'a echo fault': 1,
    'a echo cancelled': 1,
  })
})

t.test('names that clients make up add no series', async t => {
  const { calls, call, atServer, counts } = setUp()
  for (let n = 0; n < 100; n++) {
    calls.over(call(`made/up-${n}`), failed(new Fault('unknown-method', 'no')))
    calls.over(atServer(`made-up-${n}`), OK)
  }
  t.same(counts('mcp_server_operation_duration_seconds'), { '_OTHER  -32601': 100, 'tools/call': 100 })
  t.same(counts('mcp_proxy_tool_calls'), { 'a _OTHER ok': 100 })
})

t.test('the name of each of the last calls is known, although many share a counter', async t => {
  const { calls, call, atServer } = setUp()
  const over = (one: CallRecord, outcome: Outcome | undefined) => {
    calls.history.began(one)
    calls.over(one, outcome)
  }
  over(atServer(), OK)
  over(atServer('y'.repeat(1000)), undefined)
  over(call('made/up-1'), failed(new Fault('unknown-method', 'no')))
  over(call('made/up-2'), { kind: 'fault', fault: new Fault('unknown-method', 'no'), errorId: 'abcd1' })
  t.match(calls.history.recent(), [
    { n: 1, server: 'a', method: 'tools/call', name: 'echo', outcome: 'ok', errorId: undefined },
    { n: 2, name: 'y'.repeat(256), outcome: 'cancelled' },
    { n: 3, server: undefined, method: 'made/up-1', name: undefined, outcome: 'unknown-method' },
    { n: 4, method: 'made/up-2', errorId: 'abcd1' },
  ])
})

t.test('a server that lists other tools all the time has us keep a bounded number of them', async t => {
  const { calls, atServer, counts, listed } = setUp({ series: 100_000 })
  for (let n = 0; n < 10_001; n++) {
    listed.add(`t${n}`)
    calls.over(atServer(`t${n}`), OK)
  }
  t.match(counts('mcp_proxy_tool_calls'), { 'a t9999 ok': 1, 'a _OTHER ok': 1 })
})

t.test('the overhead is the time of a call minus its server time and waits', async t => {
  const { clock, calls, atServer, meter } = setUp()
  const call = atServer()
  clock.advance(30)
  calls.held(call, 'start', 30)
  clock.advance(100)
  calls.served(call, 'a', OK, 100)
  clock.advance(2)
  calls.over(call, OK)
  const [overhead] = meter.samples('mcp_proxy_overhead_seconds')
  t.match(overhead, { value: { sum: 0.002 } })
  const start = meter.samples('mcp_proxy_wait_seconds').find(({ labels }) => labels[0] === 'start')
  t.match(start, { value: { sum: 0.03 } })
})

t.test('each tool has a histogram if that is asked for', async t => {
  const { calls, atServer, counts } = setUp({ hasToolHistograms: true })
  for (const own of ['echo', 'echo', 'made-up']) calls.served(atServer(own), 'a', OK, 1)
  t.same(counts('mcp_client_operation_duration_seconds'), {
    'a tools/call   echo': 2,
    'a tools/call   _OTHER': 1,
  })
})

t.test('a session is counted when it ends', async t => {
  const { clock, calls, counts, meter } = setUp()
  const about = { serverRequests: 'pushed', revision: '2025-11-25', via: 'http', info: textOf({}) } as const
  const client = about as unknown as FakeClient
  calls.met(client)
  clock.advance(90_000)
  calls.left(client)
  calls.left(client)
  t.same(counts('mcp_server_session_duration_seconds'), { '2025-11-25 http': 1 })
  const [session] = meter.samples('mcp_server_session_duration_seconds')
  t.match(session, { value: { sum: 90 } })
})

t.test('once series may be forgotten they are asked for again', async t => {
  const { clock, calls, atServer, counts, meter } = setUp()
  meter.serve(['a'])
  calls.over(atServer(), OK)
  meter.serve([])
  clock.advance(300_000)
  t.same(counts('mcp_proxy_tool_calls'), {})
  calls.over(atServer(), OK)
  t.same(counts('mcp_proxy_tool_calls'), { 'a echo ok': 1 })
})

t.test('questions are counted by their method and how they ended', async t => {
  const { calls, counts } = setUp()
  const about = { server: 'a', client: {} as FakeClient }
  calls.asked({ ...about, method: 'roots/list' })(OK)
  calls.asked({ ...about, method: 'made/up' })(undefined)
  t.same(counts('mcp_proxy_questions'), { 'roots/list result': 1, '_OTHER withdrawn': 1 })
})
