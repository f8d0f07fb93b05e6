import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { rawText, textOf } from '../../src/kernel/json-text.js'
import type { Call, Client } from '../../src/model/links.js'
import { failed, type Outcome, resulted } from '../../src/model/outcome.js'
import { audited } from '../../src/mux/audit.js'
import { FakeClock } from '../support/fake-clock.js'
import { FakeReception } from '../support/fake-reception.js'
import { FakeCall, type FakeClient } from '../support/mux.js'

const CLIENT: Partial<Client> = { id: 7, principal: 'local', sessionId: 'a-secret-session-id' }

const setUp = (withArguments = false) => {
  const clock = new FakeClock()
  const lines: string[] = []
  const behind = new FakeReception()
  const reception = audited(behind, {
    write: line => lines.push(line),
    clock,
    now: () => new Date(0),
    withArguments,
  })
  const call = (method: string, params?: object | string, client: Partial<Client> = CLIENT) => {
    const made = new FakeCall(client as FakeClient, method, params, false)
    reception.call(made)
    return made
  }
  return { clock, lines, behind, call, last: () => JSON.parse(lines.at(-1) ?? '{}') as object }
}

t.test(
  'each call leaves one line that says who, what, where, how it ended, how long and how large',
  async t => {
    const { clock, lines, behind, call, last } = setUp()
    const params = '{"name":"github__search","arguments":{"q":"private"}}'
    const one = call('tools/call', params)
    t.equal(behind.calls[0], one, 'the call itself is passed on')
    ;(one as Call).servedBy = 'github'
    clock.advance(1234.56)
    const result = '{"content":[]}'
    one.end(resulted(rawText(result)))
    one.end(resulted(rawText(result)))
    t.equal(lines.length, 1)
    t.same(last(), {
      audit: 'call',
      time: '1970-01-01T00:00:00.000Z',
      principal: 'local',
      session: '2pzxYHagmvIc1DCU',
      method: 'tools/call',
      name: 'github__search',
      server: 'github',
      outcome: 'ok',
      durationMs: 1234.6,
      bytesIn: params.length,
      bytesOut: result.length,
    })
    t.notMatch(lines[0], /private|a-secret/)
  },
)

t.test('how a call ended is a table', async t => {
  const error = { kind: 'error', error: textOf({ code: -32001, message: 'no' }) } as const
  const rows: readonly (readonly [Outcome, object])[] = [
    [resulted(rawText('{}')), { outcome: 'ok', bytesOut: 2 }],
    [resulted(rawText('{"isError":true}')), { outcome: 'tool-error' }],
    [resulted(rawText('{"isError":false}')), { outcome: 'ok' }],
    [
      { kind: 'input', result: rawText('{}') },
      { outcome: 'input-required', bytesOut: 2 },
    ],
    [error, { outcome: 'error', code: -32001, bytesOut: error.error.length }],
    [failed(new Fault('timeout', 'late')), { outcome: 'timeout', code: -32603, bytesOut: 0 }],
  ]
  const { call, last } = setUp()
  for (const [outcome, said] of rows) {
    call('tools/call', { name: 'x' }).end(outcome)
    t.match(last(), said)
  }
  call('tools/call', { name: 'x' }).cancel()
  t.match(last(), { outcome: 'cancelled', bytesOut: 0 })
})

t.test('what a call is about stands in different places', async t => {
  const { call, last } = setUp()
  const rows: readonly (readonly [string, object | undefined, string | undefined])[] = [
    ['tools/call', { name: 'a__b' }, 'a__b'],
    ['resources/read', { uri: 'a+file:///b' }, 'a+file:///b'],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'a__p' } }, 'a__p'],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'a+x{y}' } }, 'a+x{y}'],
    ['tools/list', undefined, undefined],
    ['tools/call', { name: 5 }, undefined],
    ['tools/call', { name: 'x'.repeat(5000) }, 'x'.repeat(512)],
  ]
  for (const [method, params, name] of rows) {
    call(method, params).end(resulted(rawText('{}')))
    t.equal((last() as { name?: string }).name, name)
  }
  call('tools/list', undefined, { ...CLIENT, sessionId: undefined }).end(resulted(rawText('{}')))
  t.match(last(), { session: 'client-7', bytesIn: 0 })
})

t.test('arguments are written only if asked for, as they came and on one line', async t => {
  const { lines, call } = setUp(true)
  call('tools/call', '{"name":"x","arguments":{\n "n":12345678901234567890,\r\n "s":"a\\nb"}}').cancel()
  t.match(lines[0], /"arguments":\{ {2}"n":12345678901234567890, {2}"s":"a\\nb"\}\}$/)
  t.notMatch(lines[0], /[\r\n]/)
  call('tools/call', { name: 'x\n{"audit":"forged"}' }).cancel()
  t.notMatch(lines[1], /\n/)
  t.match(JSON.parse(lines[1] ?? ''), { name: 'x\n{"audit":"forged"}' })
})
