import t from 'tap'
import { servePipe } from '../../../src/eras/listen/pipe-listener.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { succeeded } from '../../../src/model/outcome.js'
import { modern } from '../../support/era/codec.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { FakeHandler } from '../../support/proxy/listeners.js'
import { IDENTITY, progressOf } from '../../support/values.js'
import { FarEnd } from '../../support/wire/channel-pair.js'

const EMPTY = succeeded(rawText('{}'))

const start = () => {
  const client = new FarEnd()
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const host = servePipe(client.channel, LOCAL, {
    handler,
    identity: IDENTITY,
    log: silentLogger,
    clock,
  })
  return { client, handler, clock, host }
}

const cancel = (requestId: unknown, meta?: object) => ({
  method: 'notifications/cancelled',
  params: { requestId, reason: 'user', ...(meta !== undefined && { _meta: meta }) },
})

t.test('a request is answered on the channel under its own id', async t => {
  const { client, handler } = start()
  client.say(modern('1', 'tools/list'))
  client.say(modern(1, 'tools/list'))
  const [text, number] = handler.calls
  number?.end(succeeded(rawText('{"tools":[]}')))
  text?.end(succeeded(rawText('{"tools":[]}')))
  t.same(
    client.take().map(({ id, result }) => [id, result?.['resultType']]),
    [
      [1, 'complete'],
      ['1', 'complete'],
    ],
  )
})

t.test('a cancelled request is not answered, whether the notification claims a version or not', async t => {
  const { client, handler } = start()
  for (const id of [1, '1', 'L']) client.say(modern(id, id === 'L' ? 'subscriptions/listen' : 'tools/call'))
  client.say(cancel(1))
  client.say(cancel('1', modern(0, '').params._meta))
  client.say(cancel('L'))
  for (const id of ['unknown', 1, null, {}]) client.say(cancel(id))
  for (const call of handler.calls) call.end(EMPTY)
  t.same(handler.cancels, ['tools/call user', 'tools/call user', 'subscriptions/listen user'])
  t.same(client.lines, [])
})

t.test('other notifications are ignored', async t => {
  const { client, handler } = start()
  client.say({ method: 'notifications/roots/list_changed', params: modern(0, '').params })
  t.same(client.lines, [])
  t.same(handler.notices, [])
})

t.test('an id in flight is refused for another request', async t => {
  const { client, handler } = start()
  client.say(modern(1, 'tools/list'))
  client.say(modern('1', 'tools/list'))
  const params = JSON.stringify(modern(0, '').params)
  client.say(`{"jsonrpc":"2.0","id":1.0,"method":"tools/list","params":${params}}`)
  t.match(client.take(), [{ id: 1, error: { code: -32600, message: 'Request id already in use' } }])
  t.equal(handler.calls.length, 2)
})

t.test('a channel has room for as many requests as one client may have', async t => {
  const { client } = start()
  for (let id = 0; id <= 1024; id += 1) client.say(modern(id, 'tools/list'))
  t.match(client.take(), [
    { id: 1024, error: { code: -32603, data: { reason: 'overloaded', limit: 'callsPerClient' } } },
  ])
})

t.test('a client of an SDK reads progress before the answer', async t => {
  const { client, handler } = start()
  const { id, method, params } = modern(1, 'tools/call', { name: 'x' }, { progressToken: 't' })
  client.say(JSON.stringify({ method, params, jsonrpc: '2.0', id }))
  handler.last.progress(progressOf({ progress: 1 }))
  handler.last.end(EMPTY)
  const [progress = '', answer = ''] = client.lines
  t.match(JSON.parse(progress), { method: 'notifications/progress', params: { progressToken: 't' } })
  t.match(JSON.parse(answer), { id: 1, result: { resultType: 'complete' } })
  t.ok(answer.length > 64 * 1024, 'which ends in another read')
})

t.test('the end of a request that listened is its result, then its cancellation', async t => {
  const { client, handler } = start()
  client.say(modern('L1', 'subscriptions/listen'))
  handler.last.notify('notifications/subscriptions/acknowledged', textOf({ notifications: {} }))
  client.take()
  handler.last.end(EMPTY)
  t.match(client.take(), [
    {
      id: 'L1',
      result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'L1' } },
    },
    { method: 'notifications/cancelled', params: { requestId: 'L1' } },
  ])
})

t.test(
  'closing ends all requests before the channel goes, also one that was just told something',
  async t => {
    const { client, handler, host } = start()
    client.say(modern('L1', 'subscriptions/listen'))
    handler.last.notify('notifications/tools/list_changed', undefined)
    client.say(modern(2, 'tools/list'))
    await host.close('the proxy is shutting down')
    await host.gone
    t.match(client.take(), [
      { method: 'notifications/tools/list_changed' },
      { id: 'L1', result: { resultType: 'complete' } },
      { method: 'notifications/cancelled', params: { requestId: 'L1' } },
      { id: 2, error: { code: -32603 } },
    ])
    t.ok(client.isClosed)
    t.same(handler.cancels, [
      'subscriptions/listen the proxy is shutting down',
      'tools/list the proxy is shutting down',
    ])
  },
)

t.test('a client that hangs up leaves, and all that it asked is cancelled', async t => {
  const { client, handler, host } = start()
  client.say(modern(1, 'tools/list'))
  client.say(modern('d', 'server/discover'))
  client.hangUp()
  await host.gone
  await settled()
  t.same(handler.cancels, ['tools/list the client closed the connection'])
  t.same(handler.gone, [handler.last.client])
})
