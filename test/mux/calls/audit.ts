import t from 'tap'
import { LOCAL } from '../../../src/kernel/caller.js'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { addSecrets } from '../../../src/kernel/secrets/mask.js'
import type { Client } from '../../../src/model/links.js'
import { type Answer, failed, type Outcome, succeeded } from '../../../src/model/outcome.js'
import { Audit } from '../../../src/mux/calls/audit.js'
import { FakeCall, type FakeClient } from '../../support/client/fake-client.js'
import { FakeClock } from '../../support/fake-clock.js'
import { begin } from '../../support/proxy/records.js'

const CLIENT: Partial<Client> = {
  ...{ id: 7, principal: 'local', sessionId: 'a-secret-session-id' },
  info: rawText('{"name":"raw","version":"1"}'),
}

const setUp = (withArguments = false, replica?: string) => {
  const clock = new FakeClock()
  const startMs = clock.nowMs()
  const lines: string[] = []
  const audit = new Audit({
    write: line => lines.push(line),
    clock,
    now: () => new Date(clock.nowMs() - startMs),
    withArguments,
    replica,
  })
  const call = (method: string, params?: object | string, client: Partial<Client> = CLIENT) => {
    const made = new FakeCall(client as FakeClient, method, params, false)
    const record = begin(made, audit.interceptors, { beganMs: clock.nowMs() })
    return Object.assign(record, { cancel: (reason?: string) => made.cancel(reason) })
  }
  return {
    audit,
    clock,
    lines,
    call,
    last: () => JSON.parse(lines.at(-1) ?? '{}') as object,
  }
}

t.test(
  'each call leaves one line that says who, what, where, how it ended, how long and how large',
  async t => {
    const { clock, lines, call, last } = setUp()
    const params = '{"name":"github__search","arguments":{"q":"private"}}'
    const one = call('tools/call', params)
    one.servedBy = 'github'
    clock.advance(1234.56)
    const result = '{"content":[]}'
    one.end(succeeded(rawText(result)))
    one.end(succeeded(rawText(result)))
    t.equal(lines.length, 1)
    t.same(last(), {
      audit: 'call',
      time: '1970-01-01T00:00:00.000Z',
      principal: 'local',
      session: '2pzxYHagmvIc1DCU',
      client: 'raw 1',
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
    [succeeded(rawText('{}')), { outcome: 'ok', bytesOut: 2 }],
    [succeeded(rawText('{"isError":true}')), { outcome: 'tool-error' }],
    [succeeded(rawText('{"isError":false}')), { outcome: 'ok' }],
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
    ['tools/call', { name: 'x'.repeat(5000) }, `${'x'.repeat(506)} [cut]`],
    ['resources/subscribe', { uri: 'a+file:///b' }, 'a+file:///b'],
    // What else a request says, it says to nobody.
    ['resources/read', { name: 'harmless', uri: 'a+file:///secret' }, 'a+file:///secret'],
    ['tools/call', { uri: 'harmless', name: 'a__pay' }, 'a__pay'],
    ['prompts/get', { uri: 'harmless', ref: { name: 'harmless' } }, undefined],
    [
      'completion/complete',
      { name: 'harmless', ref: { type: 'ref/resource', name: 'b', uri: 'a+x' } },
      'a+x',
    ],
    ['completion/complete', { name: 'harmless', ref: { type: 'else', name: 'b' } }, undefined],
    ['tools/list', { name: 'harmless' }, undefined],
    ['made/up', { name: 'harmless' }, undefined],
    ['resources/read', { uri: 'https://ann:pw@h/x?key=v' }, 'https://***@h/x?***'],
  ]
  for (const [method, params, name] of rows) {
    call(method, params).end(succeeded(rawText('{}')))
    t.equal((last() as { name?: string }).name, name)
  }
  call('tools/list', undefined, { ...CLIENT, sessionId: undefined }).end(succeeded(rawText('{}')))
  t.match(last(), { session: 'client-7', bytesIn: 0 })
})

t.test('arguments are written only if asked for, as they came and on one line', async t => {
  const { lines, call } = setUp(true)
  call('tools/call', '{"name":"x","arguments":{\n "n":12345678901234567890,\r\n "s":"a\\nb"}}').cancel()
  t.match(lines[0], /"arguments":\{ {2}"n":12345678901234567890, {2}"s":"a\\nb"\}\}$/)
  t.notMatch(lines[0], /[\r\n]/)
  call('tools/call', { name: 'x\n{"audit":"forged"}' }).cancel()
  t.notMatch(lines[1], /\n/)
  t.match(JSON.parse(lines[1] ?? ''), { name: 'x {"audit":"forged"}' })
})

t.test('arguments are written without secrets, and not if they are too long', async t => {
  const { lines, call } = setUp(true)
  const release = addSecrets(['hunter2', '493817'])
  const secrets =
    '{"a":"it is hunter2","pin":493817,"password":"word","n":[1,"Bearer abc1",{"apiKey": 12}],"k":null}'
  call('tools/call', `{"name":"x","arguments":${secrets}}`).cancel()
  release()
  t.same((JSON.parse(lines[0] ?? '') as { arguments: object }).arguments, {
    a: 'it is ***',
    pin: '***',
    password: '***',
    n: [1, 'Bearer ***', { apiKey: '***' }],
    k: null,
  })
  call('tools/call', { name: 'x', arguments: { a: 'x'.repeat(70_000) } }).cancel()
  t.match(JSON.parse(lines[1] ?? ''), { argumentsBytes: 70_008 })
  t.notMatch(lines[1], /xxx/)
})

t.test('sessions leave a line when they come, which says who they are, and one when they go', async t => {
  const { audit, lines, clock } = setUp()
  const info = textOf({ name: 'host\u001b[2J', version: '1.2' })
  const client = { ...CLIENT, serverRequests: 'pushed', info, revision: '2025-06-18' } as unknown as Client
  audit.met(client)
  audit.met(client)
  clock.advance(5000)
  audit.left(client)
  audit.left({ ...client, id: 8 })
  const modern = { ...client, serverRequests: 'returned' } as unknown as Client
  audit.met(modern)
  audit.left(modern)
  const who = { audit: 'session', time: String, principal: 'local', session: '2pzxYHagmvIc1DCU' }
  t.match(
    lines.map(line => JSON.parse(line) as object),
    [
      { ...who, event: 'opened', client: 'host 1.2', revision: '2025-06-18' },
      { ...who, event: 'closed', durationMs: 5000 },
    ],
    'those whose requests stand for themselves have no session',
  )
  t.equal(lines.length, 2)
})

t.test('questions leave a line that says who asked, who answered, and how it ended', async t => {
  const { audit, last, clock } = setUp()
  const ask = { server: 'github', method: 'elicitation/create', client: CLIENT as Client }
  const rows: readonly (readonly [Answer | undefined, object])[] = [
    [succeeded(textOf({ action: 'accept', content: { password: 'hush' } })), { outcome: 'accept' }],
    [succeeded(textOf({ action: 'decline' })), { outcome: 'decline' }],
    [succeeded(textOf({ role: 'assistant' })), { outcome: 'ok' }],
    [
      { kind: 'error', error: textOf({ code: -1, message: 'no' }) },
      { outcome: 'error', code: -1 },
    ],
    [failed(new Fault('timeout', 'late')), { outcome: 'timeout' }],
    [undefined, { outcome: 'withdrawn' }],
  ]
  for (const [answer, end] of rows) {
    const over = audit.asked(ask)
    clock.advance(1500)
    over(answer)
    t.match(last(), {
      audit: 'question',
      principal: 'local',
      session: '2pzxYHagmvIc1DCU',
      server: 'github',
      method: 'elicitation/create',
      durationMs: 1500,
      ...end,
    })
    t.notMatch(JSON.stringify(last()), /hush/)
  }
})

t.test('answers that come with a request stand in its line', async t => {
  const { call, last } = setUp()
  const inputResponses = { a: { action: 'accept' }, b: { role: 'assistant' } }
  call('tools/call', { name: 'x', inputResponses }).end(succeeded(rawText('{}')))
  t.match(last(), { audit: 'call', answers: ['accept', 'ok'] })
})

t.test(
  'with several replicas, the audit names the replica that a call reached and the one that served it',
  async t => {
    const { call, last } = setUp(false, 'owner')
    for (const edge of [undefined, 'edge']) {
      const one = call('ping', undefined, { ...CLIENT, caller: { ...LOCAL, edge } })
      one.end(succeeded(rawText('{}')))
      t.match(last(), { edge: edge ?? 'owner', owner: 'owner' })
    }
  },
)
