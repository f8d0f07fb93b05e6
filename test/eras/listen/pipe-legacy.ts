import t from 'tap'
import { servePipe } from '../../../src/eras/listen/pipe-listener.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { rawText } from '../../../src/kernel/json/text.js'
import { succeeded } from '../../../src/model/outcome.js'
import { Progress } from '../../../src/model/progress.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { FakeHandler } from '../../support/proxy/listeners.js'
import { IDENTITY } from '../../support/values.js'
import { FarEnd, recordedLog } from '../../support/wire/channel-pair.js'

const start = async (version?: string) => {
  const client = new FarEnd()
  const handler = new FakeHandler()
  const { log, lines } = recordedLog()
  const clock = new FakeClock()
  const host = servePipe(client.channel, LOCAL, { handler, identity: IDENTITY, log, clock })
  if (version !== undefined) {
    client.say(hello(version))
    await settled()
    client.say({ method: 'notifications/initialized' })
    client.take()
  }
  return { client, handler, host, lines, clock }
}

const hello = (protocolVersion: string) => ({
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } },
})
const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' })
const EMPTY = succeeded(rawText('{}'))

t.test('a batch of a 2025-03-26 client is answered by one array when all are done', async t => {
  const { client, handler } = await start('2025-03-26')
  client.say([
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    ping('p'),
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { _meta: { progressToken: 't' } } },
    7,
    [ping(9)],
    { jsonrpc: '2.0', id: 3, method: 4 },
    { jsonrpc: '2.0', id: 4, result: {} },
  ])
  const [list, call] = handler.calls
  t.same(handler.notices, ['notifications/roots/list_changed'])
  call?.progress(new Progress(rawText('{"progress":1}')))
  t.same(
    client.take().map(message => message.method),
    ['notifications/progress'],
    'what is said on the way does not wait',
  )
  list?.end(EMPTY)
  t.same(client.lines, [])
  call?.end(EMPTY)
  t.equal(client.lines.length, 1)
  const answers = JSON.parse(client.lines[0] ?? '') as { id?: unknown; error?: { code: number } }[]
  t.same(
    answers.map(({ id, error }) => [id, error?.code]),
    [
      ['p', undefined],
      [undefined, -32600],
      [undefined, -32600],
      [3, -32600],
      [1, undefined],
      [2, undefined],
    ],
  )
})

t.test('a batch that holds nothing to answer is silence', async t => {
  const { client, handler } = await start('2025-03-26')
  client.say([
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    { jsonrpc: '2.0', id: 1, result: {} },
  ])
  t.same(client.lines, [])
  t.same(handler.notices, ['notifications/roots/list_changed'])
})

t.test('the members of a batch that are cancelled are missing from its array', async t => {
  const { client, handler } = await start('2025-03-26')
  client.say([
    { jsonrpc: '2.0', id: 1, method: 'tools/call' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call' },
  ])
  client.say({ method: 'notifications/cancelled', params: { requestId: 1 } })
  handler.calls[1]?.end(EMPTY)
  t.same(client.lines, ['[{"jsonrpc":"2.0","id":2,"result":{}}]'])
})

t.test('a batch that follows initialize at once waits for its answer', async t => {
  const { client, handler } = await start()
  handler.onCall = call => call.end(EMPTY)
  client.say(hello('2025-03-26'))
  client.say([
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ])
  t.same(client.lines, [])
  await settled()
  t.match(client.lines, [/"id":"hello"/, '[{"jsonrpc":"2.0","id":2,"result":{}}]'])
})

t.test('no other revision takes batches: each request in one gets an error of its own', async t => {
  for (const version of ['2024-11-05', '2025-06-18', '2025-11-25']) {
    const { client, handler } = await start(version)
    client.say([
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { jsonrpc: '2.0', method: 'notifications/x' },
      { jsonrpc: '2.0', id: 9, result: {} },
      { jsonrpc: '1.0', id: 'two', method: 'ping' },
    ])
    t.same(handler.calls, [], version)
    const answers = client.take().map(({ id, error }) => [id, error?.code])
    t.same(
      answers,
      [
        [1, -32600],
        ['two', -32600],
      ],
      version,
    )
    client.say([{ jsonrpc: '2.0', method: 'notifications/x' }])
    const codes = client.take().map(({ error }) => error?.code)
    t.same(codes, version === '2025-11-25' ? [-32600] : [], 'older clients reject an error without id')
  }
})

t.test('initialize is refused inside a batch, as are empty and oversized ones', async t => {
  const { client, handler, lines } = await start('2025-03-26')
  client.say([{ jsonrpc: '2.0', ...hello('2025-11-25') }])
  t.match(client.take(), [{ id: 'hello', error: { code: -32600 } }])
  client.say([])
  client.say(Array.from({ length: 51 }, (_, id) => ping(id)))
  t.same(client.lines, [])
  t.equal(handler.clients.length, 1)
  t.equal(lines.filter(([level]) => level === 'warn').length, 3)
  client.say(Array.from({ length: 50 }, (_, id) => ping(id)))
  t.equal((JSON.parse(client.lines[0] ?? '') as unknown[]).length, 50)
})

t.test('what cannot be read is answered without id only to clients that know such errors', async t => {
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', undefined]) {
    const { client } = await start(version)
    client.say('{"jsonrpc":')
    client.say('{"jsonrpc":"2.0","id":null,"method":"ping"}')
    t.same(client.lines, [], version ?? 'before initialize')
  }
  const { client } = await start('2025-11-25')
  client.say('{"jsonrpc":')
  client.say('{"jsonrpc":"2.0","id":null,"method":"ping"}')
  t.same(
    client.take().map(message => [Object.hasOwn(message, 'id'), message.error?.code]),
    [
      [false, -32700],
      [false, -32600],
    ],
  )
})

t.test(
  'a bad frame with a usable id gets its error, a bad answer gets none, and the client stays',
  async t => {
    const { client } = await start('2024-11-05')
    client.say('{"jsonrpc":"1.0","id":"a","method":"ping"}')
    client.say('{"jsonrpc":"2.0","id":5,"method":"ping","params":[]}')
    client.say('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}')
    client.say('{"jsonrpc":"2.0","id":1}')
    client.channel.skipped(1e9)
    t.same(
      client.take().map(({ id, error }) => [id, error?.code]),
      [
        ['a', -32600],
        [5, -32600],
        [1, -32600],
      ],
    )
    client.say({ id: 0, method: 'ping' })
    t.same(client.take(), [{ jsonrpc: '2.0', id: 0, result: {} }])
  },
)

t.test('both directions may use the same ids at the same time', async t => {
  const { client, handler } = await start('2025-11-25')
  const answers: unknown[] = []
  for (let id = 1; id <= 50; id += 1) {
    client.say({ id, method: 'tools/call' })
    handler.client.ask(
      {
        method: 'roots/list',
        params: undefined,
        about: undefined,
        wantsProgress: false,
        answer: outcome => answers.push(outcome.kind),
        progress: () => undefined,
        onWithdrawn: undefined,
      },
      undefined,
    )
  }
  const questions = client.take()
  t.equal(new Set(questions.map(({ id }) => id)).size, 50)
  for (const { id } of questions) client.say({ id, result: { roots: [] } })
  for (const call of handler.calls) call.end(EMPTY)
  t.equal(answers.length, 50)
  t.same(
    client.take().map(({ id }) => id),
    Array.from({ length: 50 }, (_, index) => index + 1),
  )
})

t.test('a client that does not read is not read from until it does', async t => {
  const { client } = await start('2025-11-25')
  client.channel.isBehind = true
  client.say({ id: 1, method: 'ping' })
  t.ok(client.channel.isPaused)
  client.channel.drained()
  t.notOk(client.channel.isPaused)
})

t.test('a client that hangs up ends its session', async t => {
  const { client, handler, host } = await start('2025-11-25')
  client.say({ id: 1, method: 'tools/call' })
  client.hangUp()
  await host.gone
  t.same(handler.cancels, ['tools/call the client closed the connection'])
  t.equal(handler.gone.length, 1)
})

t.test('closing answers requests in flight before the channel closes', async t => {
  const { client, handler, host } = await start('2025-11-25')
  client.say({ id: 1, method: 'tools/call' })
  await host.close('shutting down')
  await host.gone
  t.match(client.take(), [{ id: 1, error: { code: -32603, message: 'The session is over: shutting down' } }])
  t.ok(client.isClosed)
  t.same(handler.cancels, ['tools/call shutting down'])
})

t.test('a client of an SDK is pinged between progress and its answer, and no server sees that', async t => {
  const { client, handler } = await start('2025-11-25')
  client.say('{"method":"tools/call","params":{"_meta":{"progressToken":1}},"jsonrpc":"2.0","id":1}')
  client.say({ id: 2, method: 'tools/call' })
  const [noisy, quiet] = handler.calls
  quiet?.end(EMPTY)
  noisy?.progress(new Progress(rawText('{"progress":1}')))
  noisy?.end(EMPTY)
  const said = client.take()
  t.match(said, [{ id: 2 }, { method: 'notifications/progress' }, { method: 'ping' }])
  t.equal(said.length, 3, 'no answer in the same read')
  client.say({ id: said[2]?.id, result: {} })
  t.match(client.take(), [{ id: 1, result: {} }])
  t.same(handler.notices, [])
})

t.test('any other client has its answer at once', async t => {
  const { client, handler } = await start('2025-11-25')
  client.say({ id: 1, method: 'tools/call', params: { _meta: { progressToken: 1 } } })
  handler.last.progress(new Progress(rawText('{"progress":1}')))
  handler.last.end(EMPTY)
  t.match(client.take(), [{ method: 'notifications/progress' }, { id: 1, result: {} }])
})
