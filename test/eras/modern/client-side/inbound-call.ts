import t from 'tap'
import { ModernClients } from '../../../../src/eras/modern/client-side/clients.js'
import { type CallEnding, ModernInboundCall } from '../../../../src/eras/modern/client-side/inbound-call.js'
import { readEnvelope } from '../../../../src/eras/modern/envelope.js'
import { LOCAL } from '../../../../src/kernel/caller.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import { failed, succeeded } from '../../../../src/model/outcome.js'
import { whole } from '../../../../src/wire/message-parts.js'
import { ENVELOPE } from '../../../support/era/codec.js'
import { FakeClock } from '../../../support/fake-clock.js'
import { progressOf } from '../../../support/values.js'

const EMPTY = succeeded(rawText('{}'))
const LEVEL = 'io.modelcontextprotocol/logLevel'

const start = (
  method: string,
  { id = '1', params = {}, meta = {} }: { id?: string; params?: object; meta?: object } = {},
) => {
  const said: string[] = []
  const endings: CallEnding[] = []
  const cancels: (string | undefined)[] = []
  const text = textOf({ ...params, _meta: { ...ENVELOPE, ...meta } })
  const check = readEnvelope(textOf({ ...ENVELOPE, ...meta }))
  if (check.is !== 'fine') throw check.fault
  const { envelope } = check
  const client = new ModernClients(
    new FakeClock(),
    () => ({ clients: 1, bytes: 1e6 }),
    () => undefined,
  ).of(LOCAL, envelope)
  if (client === undefined) throw new Error('there is room')
  let overs = 0
  const call = new ModernInboundCall({
    id: rawText(id),
    method,
    params: text,
    declared: envelope.declared,
    client,
    caller: LOCAL,
    logLevel: envelope.logLevel,
    token: envelope.token?.toString('latin1'),
    arrival: undefined,
    identity: () => rawText('{"name":"proxy","version":"1"}'),
    replies: {
      send: frame => said.push(whole(frame).toString()),
      end: (frame, ending) => {
        said.push(frame === undefined ? 'the end' : whole(frame).toString())
        endings.push(ending)
      },
    },
    over: () => {
      overs += 1
    },
  })
  call.onCancelled(reason => cancels.push(reason))
  return { call, client, said, endings, cancels, overs: () => overs }
}

const parsed = (line: string | undefined): unknown => JSON.parse(line ?? 'null')

t.test('progress comes under the client’s own token, with its type, if it gave one', async t => {
  for (const token of [0, 7, '', '7']) {
    const { call, said } = start('tools/call', { meta: { progressToken: token } })
    t.ok(call.wantsProgress)
    call.progress(progressOf({ progressToken: 'ours', progress: 0.5, total: 1, message: 'half' }))
    t.same(said.map(parsed), [
      {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: token, progress: 0.5, total: 1, message: 'half' },
      },
    ])
  }
  const { call, said } = start('tools/call')
  t.notOk(call.wantsProgress)
  call.progress(progressOf({ progressToken: 'ours', progress: 1 }))
  t.same(said, [])
})

t.test('log messages come to a request that named a level, and nothing else does', async t => {
  const { call, said } = start('tools/call', { meta: { [LEVEL]: 'info' } })
  t.equal(call.logLevel, 'info')
  call.notify('notifications/message', textOf({ level: 'error', data: 1 }))
  for (const method of [
    'notifications/tools/list_changed',
    'notifications/resources/updated',
    'notifications/elicitation/complete',
    'notifications/tasks/status',
    'notifications/cancelled',
  ])
    call.notify(method, textOf({ uri: 'a:b' }))
  t.same(said.map(parsed), [
    { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 1 } },
  ])
  const quiet = start('tools/call')
  quiet.call.notify('notifications/message', textOf({ level: 'emergency', data: 1 }))
  t.same(quiet.said, [])
})

t.test('notifications contain no members of older revisions either', async t => {
  const { call, said } = start('tools/call', { meta: { progressToken: 1, [LEVEL]: 'debug' } })
  const _meta = { 'io.modelcontextprotocol/related-task': { taskId: 't' } }
  call.notify('notifications/message', textOf({ level: 'error', data: 1, _meta }))
  call.progress(progressOf({ progress: 1, _meta }))
  t.equal(said.length, 2)
  for (const line of said) t.notMatch(line, 'related-task')
})

t.test('a listening request gets changes under its own id', async t => {
  for (const [id, subscriptionId] of [
    ['7', 7],
    ['"7"', '7'],
  ] as const) {
    const { call, said } = start('subscriptions/listen', { id, meta: { [LEVEL]: 'debug' } })
    const _meta = { 'io.modelcontextprotocol/subscriptionId': subscriptionId }
    call.notify(
      'notifications/subscriptions/acknowledged',
      textOf({ notifications: { toolsListChanged: true } }),
    )
    call.notify('notifications/tools/list_changed', undefined)
    call.notify('notifications/resources/updated', textOf({ uri: 'a:b' }))
    call.notify('notifications/message', textOf({ level: 'error', data: 1 }))
    t.match(said.map(parsed), [
      {
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true }, _meta },
      },
      { method: 'notifications/tools/list_changed', params: { _meta } },
      { method: 'notifications/resources/updated', params: { uri: 'a:b', _meta } },
    ])
    t.equal(said.length, 3, 'and no log messages, which belong to other requests')
  }
})

t.test('a request has one end, and nothing is said after it', async t => {
  const { call, client, said, endings, cancels, overs } = start('tools/call', {
    id: '"a"',
    meta: { progressToken: 1, [LEVEL]: 'debug' },
  })
  t.equal(client.openCalls, 1)
  call.end(succeeded(rawText('{"content":[]}')))
  call.end(failed(new Fault('internal', 'again')))
  call.progress(progressOf({ progress: 1 }))
  call.notify('notifications/message', textOf({ level: 'error', data: 1 }))
  call.cancel('late')
  call.abandon('later', new Fault('internal', 'm'))
  t.match(said.map(parsed), [{ id: 'a', result: { content: [], resultType: 'complete' } }])
  t.equal(said.length, 1)
  t.same(endings, [{ status: 200, followUp: undefined }])
  t.same(cancels, [])
  t.equal(overs(), 1)
  t.equal(client.openCalls, 0)
})

t.test('who cancels a request gets no answer to it, whenever it comes', async t => {
  const { call, client, said, cancels, overs } = start('tools/call')
  call.cancel('user')
  call.cancel('again')
  call.end(EMPTY)
  t.same(said, ['the end'])
  t.same(cancels, ['user'])
  t.equal(overs(), 1)
  t.equal(client.openCalls, 0)
})

t.test('when we go, a request ends with an error', async t => {
  const { call, said, cancels } = start('tools/call')
  call.abandon('shutting down', new Fault('disconnected', 'over'))
  call.end(EMPTY)
  t.match(said.map(parsed), [{ id: 1, error: { code: -32603, data: { reason: 'disconnected' } } }])
  t.same(cancels, ['shutting down'])
})

t.test(
  'a request that listened ends with a result, behind which pipes say that it was cancelled',
  async t => {
    const byUs = start('subscriptions/listen', { id: '"L"' })
    byUs.call.abandon('shutting down', new Fault('disconnected', 'over'))
    t.same(byUs.cancels, ['shutting down'])
    const byMux = start('subscriptions/listen', { id: '"L"' })
    byMux.call.end(EMPTY)
    for (const { said, endings } of [byUs, byMux]) {
      t.match(said.map(parsed), [
        {
          id: 'L',
          result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'L' } },
        },
      ])
      t.same(parsed(endings[0]?.followUp?.toString()), {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 'L' },
      })
    }
  },
)

t.test('a request to listen that is refused never was one that could be cancelled', async t => {
  const { call, endings } = start('subscriptions/listen')
  call.end(failed(new Fault('overloaded', 'too many')))
  t.match(endings, [{ status: 200, followUp: undefined }])
})

t.test('only a call without an answer can be cancelled, and only once', async t => {
  const [answered, cancelled, abandoned] = ['1', '2', '3'].map(id => start('tools/call', { id }))
  answered?.call.end(EMPTY)
  for (const one of [answered, cancelled]) one?.call.cancel('user')
  for (const one of [answered, cancelled, abandoned])
    one?.call.abandon('over', new Fault('disconnected', 'over'))
  t.same([answered?.cancels, cancelled?.cancels, abandoned?.cancels], [[], ['user'], ['over']])
})

t.test('an answer that cannot be encoded is an error, so that no client waits for it', async t => {
  const { call, said } = start('tools/call')
  call.end(succeeded(rawText('[]')))
  t.match(said.map(parsed), [{ id: 1, error: { code: -32603 } }])
})
