import t from 'tap'
import { envelope, key } from '../../../support/era/codec.js'
import { settled } from '../../../support/fake-clock.js'
import { modernOnHttp, modernOnPipe } from '../../../support/proxy/links.js'
import type { Heard } from '../../../support/wire/channel-pair.js'

const ALL = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
}
const RESOURCES = { resources: { subscribe: true } }
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const UPDATED = 'notifications/resources/updated'
const TOOLS_CHANGED = 'notifications/tools/list_changed'

const subscription = (id: unknown) => ({ _meta: { [key('subscriptionId')]: id } })
const filterOf = ({ params }: Heard): unknown => params?.['notifications']

type Pipe = ReturnType<typeof modernOnPipe>

/** Answers the one `listen` that came, with the whole filter unless another one is given. */
const acknowledge = async ({ server }: Pipe, filter?: object): Promise<Heard> => {
  await settled()
  const [listen, ...others] = server.take().filter(({ method }) => method === 'subscriptions/listen')
  if (listen === undefined || others.length > 0) throw new Error(`${others.length + 1} listens`)
  const notifications = filter ?? filterOf(listen)
  server.say({ method: ACKNOWLEDGED, params: { notifications, ...subscription(listen.id) } })
  return listen
}

/** A connection to a server whose notifications are heard. */
const listening = async (capabilities: object = ALL) => {
  const pipe = modernOnPipe(capabilities)
  const listen = await acknowledge(pipe)
  return { ...pipe, pipe, listen }
}

// ── what is listened to ──

t.test('all lists of which the server tells are listened to, in one request', async t => {
  const pipe = modernOnPipe(ALL)
  t.notOk(pipe.link.receivesUnsolicited)
  await settled()
  t.same(pipe.server.take(), [
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
        _meta: envelope(),
      },
    },
  ])
  t.notOk(pipe.link.receivesUnsolicited, 'not before it is acknowledged')
  const partly = modernOnPipe({ tools: { listChanged: true }, prompts: {} })
  t.same(filterOf(await acknowledge(partly)), { toolsListChanged: true })
  t.ok(partly.link.receivesUnsolicited)
})

t.test('a server without notifications gets no subscription', async t => {
  const { server } = modernOnPipe({ tools: {}, resources: { subscribe: true } })
  await settled()
  t.same(server.take(), [])
})

t.test('a server that promises less than it announced is not relied on', async t => {
  const pipe = modernOnPipe(ALL)
  await acknowledge(pipe, { toolsListChanged: true })
  t.notOk(pipe.link.receivesUnsolicited)
})

t.test('only notifications of the stream are reported, without the subscription id', async t => {
  const { server, heard } = await listening()
  server.say({ method: TOOLS_CHANGED, params: subscription(1) })
  server.say({ method: 'notifications/prompts/list_changed', params: subscription('1') })
  server.say({ method: UPDATED, params: { uri: 'db://t', 'x-k': 1, ...subscription(1) } })
  server.say({ method: TOOLS_CHANGED, params: subscription(2) })
  server.say({ method: 'notifications/message', params: subscription(1) })
  t.match(heard, [
    `${TOOLS_CHANGED} {}`,
    'notifications/prompts/list_changed {}',
    `${UPDATED} {"uri":"db://t","x-k":1}`,
    /^notifications\/message/,
  ])
})

t.test('over HTTP the stream itself is the mark', async t => {
  const { http, heard, link } = modernOnHttp(ALL)
  await settled()
  const listen = http.next()
  t.equal(listen.headers['Mcp-Method'], 'subscriptions/listen')
  listen.sse()
  listen.event({ method: ACKNOWLEDGED, params: { notifications: filterOf(listen.message) } })
  listen.event({ method: TOOLS_CHANGED })
  await settled()
  t.ok(link.receivesUnsolicited)
  t.same(heard, [TOOLS_CHANGED])
})

// ── wishes ──

t.test('a subscription is answered when the server has said that it will tell', async t => {
  const { pipe, server, call, heard } = await listening()
  const { ends } = call('resources/subscribe', { uri: 'db://t' })
  await pipe.pass(100)
  const [listen] = server.take()
  t.match(listen, { id: 2, method: 'subscriptions/listen' })
  t.same(filterOf(listen ?? {}), {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['db://t'],
  })
  t.same(ends, [])
  server.say({ method: TOOLS_CHANGED, params: subscription(1) })
  t.equal(heard.length, 1, 'the old stream is heard until then')
  server.say({
    method: ACKNOWLEDGED,
    params: { notifications: filterOf(listen ?? {}), ...subscription(2) },
  })
  t.same(ends, ['result {}'])
  t.match(
    server.take(),
    [{ method: 'notifications/cancelled', params: { requestId: 1 } }],
    'and then dropped',
  )
  server.say({ method: TOOLS_CHANGED, params: subscription(1) })
  t.equal(heard.length, 1)
  server.say({ method: UPDATED, params: { uri: 'db://t', ...subscription(2) } })
  t.equal(heard.length, 2)
  const again = call('resources/subscribe', { uri: 'db://t' })
  await pipe.pass(1000)
  t.same([again.ends, server.take()], [['result {}'], []], 'what is promised already needs no other stream')
})

t.test('a URI that the server does not promise is not accepted, and not asked for again', async t => {
  const pipe = modernOnPipe(RESOURCES)
  const [good, bad] = [
    pipe.call('resources/subscribe', { uri: 'db://t' }),
    pipe.call('resources/subscribe', { uri: 'db://secret' }),
  ]
  const listen = await acknowledge(pipe, { resourceSubscriptions: ['db://t'] })
  t.same(
    filterOf(listen),
    { resourceSubscriptions: ['db://t', 'db://secret'] },
    'wishes of a moment go together',
  )
  t.same([good?.ends, bad?.ends], [['result {}'], ['invalid-params: Subscription not accepted']])
  pipe.call('resources/subscribe', { uri: 'db://u' })
  await pipe.pass(100)
  t.same(pipe.server.take().map(filterOf), [{ resourceSubscriptions: ['db://t', 'db://u'] }])
})

t.test('wishes that follow each other soon share one more stream', async t => {
  const pipe = modernOnPipe(RESOURCES)
  pipe.call('resources/subscribe', { uri: 'db://0' })
  await acknowledge(pipe)
  const later = Array.from({ length: 20 }, (_, n) =>
    pipe.call('resources/subscribe', { uri: `db://${n + 1}` }),
  )
  await settled()
  t.same(pipe.server.take(), [])
  await pipe.pass(99)
  t.same(pipe.server.take(), [])
  await pipe.pass(1)
  const listen = await acknowledge(pipe)
  t.equal((filterOf(listen) as { resourceSubscriptions: string[] }).resourceSubscriptions.length, 21)
  t.same(
    later.map(({ ends }) => ends),
    later.map(() => ['result {}']),
  )
})

t.test('subscriptions made while a stream is being opened wait for the next one', async t => {
  const pipe = modernOnPipe(RESOURCES)
  pipe.call('resources/subscribe', { uri: 'db://1' })
  await settled()
  const second = pipe.call('resources/subscribe', { uri: 'db://2' })
  await pipe.pass(1000)
  await acknowledge(pipe)
  t.same(second.ends, [])
  t.same(filterOf(await acknowledge(pipe)), { resourceSubscriptions: ['db://1', 'db://2'] })
  t.same(second.ends, ['result {}'])
})

t.test('the last wish that is taken back ends the stream', async t => {
  const pipe = modernOnPipe(RESOURCES)
  pipe.call('resources/subscribe', { uri: 'db://1' })
  pipe.call('resources/subscribe', { uri: 'db://2' })
  await acknowledge(pipe)
  await pipe.pass(1000)
  const one = pipe.call('resources/unsubscribe', { uri: 'db://1' })
  const listen = await acknowledge(pipe)
  t.same([one.ends, filterOf(listen)], [['result {}'], { resourceSubscriptions: ['db://2'] }])
  t.match(pipe.server.take(), [{ params: { requestId: 1 } }])
  await pipe.pass(1000)
  pipe.call('resources/unsubscribe', { uri: 'db://2' })
  await settled()
  t.match(pipe.server.take(), [{ method: 'notifications/cancelled', params: { requestId: 2 } }])
  await pipe.pass(100_000)
  t.same(pipe.server.take(), [])
  t.equal(pipe.clock.pending, 0)
})

t.test('a wish that was called off before it was granted is forgotten', async t => {
  const pipe = modernOnPipe(RESOURCES)
  const { down, ends } = pipe.call('resources/subscribe', { uri: 'db://1' })
  await settled()
  down.cancel('timed out')
  await acknowledge(pipe)
  await pipe.pass(1000)
  pipe.call('resources/subscribe', { uri: 'db://2' })
  t.same(filterOf(await acknowledge(pipe)), { resourceSubscriptions: ['db://2'] })
  t.same(ends, [])
})

t.test('there is a bound to the URIs of one server', async t => {
  const pipe = modernOnPipe(RESOURCES)
  const wishes = Array.from({ length: 10_001 }, (_, n) =>
    pipe.call('resources/subscribe', { uri: `db://${n}` }),
  )
  await settled()
  t.match(wishes.at(-1)?.ends, [/^overloaded: More than 10000/])
  t.same(wishes.at(-2)?.ends, [])
})

// ── streams that end ──

t.test('a stream that ends is opened again, and what may have been missed is reported once', async t => {
  const ends: [why: string, end: (pipe: Pipe) => void][] = [
    ['a result', ({ server }) => server.say({ id: 2, result: { resultType: 'complete' } })],
    ['an error', ({ server }) => server.say({ id: 2, error: { code: -32603, message: 'no' } })],
    [
      'a notification',
      ({ server }) => server.say({ method: 'notifications/cancelled', params: { requestId: 2 } }),
    ],
  ]
  for (const [why, end] of ends) {
    const { pipe, call, heard, link, server } = await listening()
    call('resources/subscribe', { uri: 'db://t' })
    await pipe.pass(100)
    await acknowledge(pipe)
    server.take()
    end(pipe)
    t.notOk(link.receivesUnsolicited, why)
    await pipe.pass(700)
    t.same(server.take(), [], 'not at once')
    await pipe.pass(600)
    t.same(heard, [])
    t.same(filterOf(await acknowledge(pipe)), {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['db://t'],
    })
    t.same(heard, [
      TOOLS_CHANGED,
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      `${UPDATED} {"uri":"db://t"}`,
    ])
    t.ok(link.receivesUnsolicited)
  }
})

t.test('a stream that breaks over HTTP is opened again, by itself', async t => {
  const { http, heard, pass, link } = modernOnHttp({ tools: { listChanged: true } })
  for (let turn = 0; turn < 3; turn += 1) {
    await settled()
    const listen = http.next()
    listen.sse()
    listen.event({ method: ACKNOWLEDGED, params: { notifications: filterOf(listen.message) } })
    await settled()
    t.ok(link.receivesUnsolicited)
    listen.break()
    await settled()
    t.notOk(link.receivesUnsolicited)
    await pass(5000)
  }
  t.same(heard, [TOOLS_CHANGED, TOOLS_CHANGED], 'not after the first opening')
})

t.test('the waits grow to a minute, and a stream that lasted makes them short again', async t => {
  const { http, clock, pass } = modernOnHttp({ tools: { listChanged: true } })
  await settled()
  const waits: number[] = []
  for (let turn = 0; turn < 10; turn += 1) {
    http.next().reply(503)
    await settled()
    const fromMs = clock.nowMs()
    while (http.waiting === 0) await pass(100)
    waits.push(clock.nowMs() - fromMs)
  }
  const bounds = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
  for (const [turn, waitMs] of waits.entries()) {
    const evenMs = (bounds[turn] ?? 0) * 1000
    t.ok(waitMs >= evenMs * 0.8 && waitMs <= evenMs * 1.2 + 100, `${waitMs} ms is about ${evenMs}`)
  }
  const listen = http.next()
  listen.sse()
  listen.event({ method: ACKNOWLEDGED, params: { notifications: { toolsListChanged: true } } })
  await settled()
  await pass(60_000)
  listen.end()
  await settled()
  await pass(1300)
  t.equal(http.waiting, 1)
})

t.test('a server that never acknowledges is given up, and asked again later', async t => {
  const pipe = modernOnPipe(RESOURCES)
  const { ends } = pipe.call('resources/subscribe', { uri: 'db://t' })
  await settled()
  pipe.server.take()
  await pipe.pass(10_000)
  t.match(pipe.server.take(), [{ method: 'notifications/cancelled', params: { requestId: 1 } }])
  t.match(ends, [/^timeout/])
  const again = pipe.call('resources/subscribe', { uri: 'db://t' })
  await acknowledge(pipe)
  t.same(again.ends, ['result {}'])
})

t.test(
  'a server without the method is not asked for list changes again, except for resource subscriptions',
  async t => {
    const { pass, call, server } = modernOnPipe(ALL)
    await settled()
    server.take()
    server.say({ id: 1, error: { code: -32601, message: 'Method not found' } })
    await pass(600_000)
    t.same(server.take(), [])
    const { ends } = call('resources/subscribe', { uri: 'db://t' })
    await settled()
    t.match(server.take(), [{ id: 2, method: 'subscriptions/listen' }])
    server.say({ id: 2, error: { code: -32601, message: 'Method not found' } })
    t.same(ends, ['invalid-params: Subscription not accepted'])
  },
)

t.test('a wish that fails leaves the stream that there is', async t => {
  const { pipe, server, call, heard, link } = await listening()
  const { ends } = call('resources/subscribe', { uri: 'db://t' })
  await pipe.pass(100)
  server.take()
  server.say({ id: 2, error: { code: -32603, message: 'too many' } })
  t.same(ends, ['invalid-params: Subscription not accepted'])
  t.ok(link.receivesUnsolicited)
  server.say({ method: TOOLS_CHANGED, params: subscription(1) })
  t.equal(heard.length, 1)
  await pipe.pass(100_000)
  t.same(server.take(), [])
})

t.test('a list that was read before anything could be heard is read once more', async t => {
  const pipe = modernOnPipe(ALL)
  pipe.call('tools/list')
  pipe.server.say({ id: 1, result: { tools: [] } })
  await acknowledge(pipe)
  t.same(pipe.heard, [TOOLS_CHANGED])
  pipe.call('prompts/list')
  pipe.server.say({ id: 3, result: { prompts: [] } })
  await pipe.pass(1000)
  t.same(pipe.heard, [TOOLS_CHANGED])
})

t.test('a server that no longer speaks this revision is reported here as well', async t => {
  const { server, heard } = modernOnPipe(ALL)
  await settled()
  server.say({ id: 1, error: { code: -32022, message: 'no' } })
  t.match(server.take().at(-1), { id: 2, method: 'server/discover' })
  server.say({ id: 2, error: { code: -32022, message: 'no' } })
  await settled()
  t.same([heard, server.isClosed], [['closed disconnected'], true])
})

t.test('nothing is left when the connection is closed', async t => {
  const { pipe, link, call, clock, server } = await listening()
  const { ends } = call('resources/subscribe', { uri: 'db://t' })
  await pipe.pass(100)
  server.take()
  await link.close()
  t.match(ends, [/^disconnected/])
  t.equal(clock.pending, 0)
  await pipe.pass(100_000)
  t.same(server.take(), [])
})
