import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText } from '../../../src/kernel/json/text.js'
import type { CounterName } from '../../../src/kernel/meter.js'
import type { Counter } from '../../../src/kernel/series.js'
import { succeeded } from '../../../src/model/outcome.js'
import type { Revision } from '../../../src/model/revision.js'
import { faultText } from '../../../src/model/rpc-error.js'
import { Metrics } from '../../../src/telemetry/metrics/registry.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { again, World } from '../../support/proxy/router.js'
import { tool } from '../../support/values.js'

const TIMEOUTS = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 60_000 }
const GONE = { code: -32603, data: { server: 'a', reason: 'disconnected' } }

const withTool = async (more: object = {}): Promise<{ world: World; client: FakeClient }> => {
  const world = new World({ a: { tools: [tool('x')], options: { timeouts: TIMEOUTS, ...more } } })
  const client = await world.client()
  await client.get('tools/list')
  return { world, client }
}

t.test('ten clients with the same names each get their own answer once, in any order of answers', async t => {
  const { world } = await withTool()
  const clients = await Promise.all(Array.from({ length: 10 }, () => world.client()))
  const calls = clients.map((client, index) =>
    client.call('tools/call', { name: 'a__x', arguments: { index } }),
  )
  const requests = world.server('a').got('tools/call')
  t.equal(requests.length, 10)
  for (const request of [...requests].reverse()) {
    const { index } = (request.params as { arguments: { index: number } }).arguments
    request.answer({ content: [{ type: 'text', text: String(index) }] })
    request.answer({ content: [] })
  }
  t.same(
    calls.map(call => call.ended),
    calls.map((_, index) => ({ result: { content: [{ type: 'text', text: String(index) }] } })),
  )
})

t.test('progress is relayed while it increases, and nothing after the end', async t => {
  const { world, client } = await withTool()
  const call = client.call('tools/call', { name: 'a__x' }, { wantsProgress: true })
  const request = world.server('a').last('tools/call')
  t.ok(request.wantsProgress)
  for (const progress of [3, 2, 3, 'x', null, 4, 4.5]) request.progress(progress)
  request.answer()
  request.isOver = false
  request.progress(5)
  request.answer()
  t.same(call.progresses, [3, 4, 4.5])
  t.equal(call.ends.length, 1)
  t.equal(call.late, 0)
})

t.test(
  'a cancelled call is cancelled once at its one server, with the client’s reason, and never answered',
  async t => {
    const world = new World({ a: { tools: [tool('x')] }, b: { tools: [tool('x')] } })
    const client = await world.client()
    await client.get('tools/list')
    const [call, other] = [
      client.call('tools/call', { name: 'a__x' }),
      client.call('tools/call', { name: 'a__x' }),
    ]
    const elsewhere = client.call('tools/call', { name: 'b__x' })
    const [first, second] = world.server('a').got('tools/call')
    call.cancel('user')
    call.isCancelled = false
    call.cancel('again')
    t.same(first?.cancels, ['user'])
    first?.answer()
    t.same(call.ends, [])
    t.same(second?.cancels, [])
    t.same(world.server('b').last('tools/call').cancels, [])
    second?.answer()
    world.server('b').last('tools/call').answer()
    t.match([other.ended, elsewhere.ended], [{ result: {} }, { result: {} }])
    t.match(world.router.load, { calls: 0 })
  },
)

t.test(
  'a server hears that a call is cancelled before its questions end: it might go on otherwise',
  async t => {
    const { world, client } = await withTool()
    const call = client.call('tools/call', { name: 'a__x' })
    const request = world.server('a').last('tools/call')
    const ask = world.server('a').link.ask('elicitation/create', { message: 'Go on?' }, request)
    const before: number[] = []
    const answer = ask.answer.bind(ask)
    ask.answer = outcome => {
      before.push(request.cancels.length)
      answer(outcome)
    }
    call.cancel('user')
    t.same(before, [1])
    t.match(ask.answered, { result: { action: 'cancel' } })
    t.same(
      client.asked.map(({ withdrawn }) => withdrawn),
      [true],
    )
    t.same(request.cancels, ['user'])
  },
)

t.test('a call that is cancelled before its server is there is never sent', async t => {
  const { world, client } = await withTool()
  const server = world.server('a')
  server.dialling = 'hang'
  server.link.drop()
  await settled()
  const call = client.call('tools/call', { name: 'a__x' })
  call.cancel('changed my mind')
  server.admit()
  await settled()
  t.same(server.got('tools/call'), [])
  t.same(call.ends, [])
  t.match(world.router.load, { calls: 0 })
})

t.test(
  'a silent server times out: it gets a cancellation, and the client an error that names it',
  async t => {
    const { world, client } = await withTool()
    const call = client.call('tools/call', { name: 'a__x' })
    await world.pass(9000)
    t.equal(call.ends.length, 0)
    await world.pass(2000)
    t.same(world.server('a').last('tools/call').cancels, ['timed out'])
    t.match(call.ended, { code: -32603, message: 'Timed out waiting for server a', data: { server: 'a' } })
    t.match(world.router.load, { calls: 0 })
  },
)

t.test(
  'a tool with a longer time of its own may be silent longer, and progress restarts that time',
  async t => {
    const toolMs = (own: string) => (own === 'x' ? 30_000 : undefined)
    const { world, client } = await withTool({ timeouts: { ...TIMEOUTS, toolMs } })
    const call = client.call('tools/call', { name: 'a__x' }, { wantsProgress: true })
    await world.pass(25_000)
    world.server('a').last('tools/call').progress(1)
    await world.pass(25_000)
    t.equal(call.ends.length, 0)
    await world.pass(6000)
    t.match(call.ended, { message: /Timed out/ })
  },
)

t.test('progress keeps a call alive, even if it is not relayed, but not for ever', async t => {
  const { world, client } = await withTool()
  const call = client.call('tools/call', { name: 'a__x' }, { wantsProgress: true })
  for (let time = 0; time < 6; time += 1) {
    await world.pass(9000)
    world.server('a').last('tools/call').progress(1)
    t.equal(call.ends.length, 0, `after ${(time + 1) * 9} s`)
  }
  await world.pass(7000)
  t.match(call.ended, { message: /Timed out/ }, 'after 61 s in all')
})

t.test('while a person thinks, silence does not count; after the answer it does again', async t => {
  const { world, client } = await withTool()
  const call = client.call('tools/call', { name: 'a__x' })
  const question = world.server('a').link.ask('elicitation/create', { message: '?' })
  await world.pass(40_000)
  t.equal(call.ends.length, 0)
  client.asked[0]?.ask.answer(succeeded(rawText('{"action":"accept"}')))
  t.same(question.answered, { result: { action: 'accept' } })
  await world.pass(9000)
  t.equal(call.ends.length, 0)
  await world.pass(2000)
  t.match(call.ended, { message: /Timed out/ })
})

t.test(
  'not even a question stops the clock of the whole call: the question ends with it, for both',
  async t => {
    const { world, client } = await withTool()
    const call = client.call('tools/call', { name: 'a__x' })
    const question = world.server('a').link.ask('elicitation/create', { message: '?' })
    await world.pass(61_000)
    t.match(call.ended, { message: /Timed out/ })
    t.ok(client.asked[0]?.withdrawn)
    t.same(question.answered, { result: { action: 'cancel' } })
    t.match(world.router.load, { clients: 1, calls: 0, serverRequests: 0, subscriptions: 0 })
  },
)

t.test(
  'when a server is lost during calls, each client gets one error with the server and the cause',
  async t => {
    const { world, client } = await withTool()
    const other = await world.client()
    const calls = [client, client, other].map(one => one.call('tools/call', { name: 'a__x' }))
    world.server('a').link.drop()
    await settled()
    for (const call of calls) {
      const [outcome] = call.ends
      t.equal(call.ends.length, 1)
      if (outcome?.kind === 'fault') t.match(JSON.parse(faultText(outcome.fault).toString()), GONE)
      else t.fail('not a fault')
      t.match(call.ended, { message: /^Server a: / })
    }
    t.equal(world.server('a').got('tools/call').length, 3, 'no tool is run a second time')
  },
)

t.test(
  'a call that the server provably did not run, because it forgot the session, is sent once more',
  async t => {
    const { world, client } = await withTool()
    const server = world.server('a')
    const call = client.call('tools/call', { name: 'a__x' })
    const request = server.last('tools/call')
    server.link.drop()
    t.match(call.ended, { code: -32603 }, 'it is only certain of the call that was refused')

    await world.pass(1)
    const second = client.call('tools/call', { name: 'a__x' })
    server.last('tools/call').fail(new Fault('session-lost', 'gone'))
    await settled()
    t.equal(server.got('tools/call').length, 3)
    server.last('tools/call').answer()
    t.match(second.ended, { result: {} })
    t.ok(request.isOver)

    const third = client.call('tools/call', { name: 'a__x' })
    for (let time = 0; time < 2; time += 1) server.last('tools/call').fail(new Fault('session-lost', 'gone'))
    await settled()
    t.match(third.ended, { code: -32603, data: { server: 'a' } }, 'but not for ever')
    t.equal(server.got('tools/call').length, 5)
  },
)

t.test('a call that ran unless its server was replaced is sent again only if it was', async t => {
  const maybe = new Fault('maybe-replaced', 'Server a refused it: whether it ran is not known', {
    data: { server: 'a' },
  })
  for (const [comesBack, version, ran] of [
    ['2026-07-28', '1', 1],
    ['2026-07-28', '2', 1],
    ['2025-11-25', '0', 2],
    ['2025-11-25', '1', 1],
    [undefined, '1', 1],
  ] as const) {
    const script: { tools: object[]; revision: Revision; version: string } = {
      tools: [tool('x')],
      revision: '2026-07-28',
      version: '1',
    }
    const world = new World({ a: script })
    const client = await world.client()
    await client.get('tools/list')
    const server = world.server('a')
    const call = client.call('tools/call', { name: 'a__x' })
    if (comesBack === undefined) server.dialling = 'refuse'
    else script.revision = comesBack
    script.version = version
    const request = server.last('tools/call')
    server.link.requests.splice(server.link.requests.indexOf(request), 1)
    server.link.drop()
    request.fail(maybe)
    await world.pass(1)
    if (ran === 2) {
      server.last('tools/call').answer()
      t.match(call.ended, { result: {} })
    } else t.match(call.ended, { code: -32603, message: maybe.message }, String(comesBack))
    t.equal(server.got('tools/call').length, ran - 1, String(comesBack))
  }
})

t.test('answers to what a server asked are for that server, not for one in its place', async t => {
  const script: { tools: object[]; revision: Revision } = { tools: [tool('x')], revision: '2026-07-28' }
  const world = new World({ a: script })
  const client = await world.client({ revision: '2026-07-28' })
  await client.get('tools/list')
  const server = world.server('a')
  const call = client.call('tools/call', { name: 'a__x' })
  server.last('tools/call').returns({ k: { method: 'roots/list' } }, 'half done')
  const retry = again(call, { k: { roots: [] } })
  script.revision = '2025-11-25'
  const request = server.last('tools/call')
  server.link.requests.pop()
  server.link.drop()
  request.fail(new Fault('session-lost', 'gone'))
  await world.pass(1)
  t.match(retry.ended, { code: -32603, data: { server: 'a', reason: undefined } })
  t.equal(server.got('tools/call').length, 1)
})

t.test('a call that waits for something else is not lost with the server either', async t => {
  const world = new World({ a: { tools: [tool('x')], capabilities: { logging: true } } })
  const client = world.modern()
  await client.get('tools/list')
  const server = world.server('a')
  server.silent.add('logging/setLevel')
  const call = client.call('tools/call', { name: 'a__x' }, { logLevel: 'debug' })
  t.same(server.got('tools/call'), [])
  server.link.drop()
  await world.pass(1)
  for (const request of server.got('logging/setLevel')) request.answer({})
  await settled()
  t.equal(server.link.requests.at(-1)?.method, 'tools/call')
  t.equal(server.got('tools/call').length, 1)
  server.last('tools/call').answer()
  t.match(call.ended, { result: {} })
})

t.test('the time that a server takes to start is not its silence about a call', async t => {
  const { world, client } = await withTool({ timeouts: { ...TIMEOUTS, connectMs: 30_000 } })
  const server = world.server('a')
  server.dialling = 'hang'
  server.link.drop()
  await settled()
  const call = client.call('tools/call', { name: 'a__x' })
  await world.pass(20_000)
  t.same(call.ends, [])
  server.admit()
  await settled()
  server.last('tools/call').answer()
  t.match(call.ended, { result: {} })
})

t.test('an unreachable server gets an error, at once until the next attempt', async t => {
  const { world, client } = await withTool()
  const server = world.server('a')
  server.dialling = 'refuse'
  server.link.drop()
  await world.pass(1)
  const before = server.greetings.length
  for (let time = 0; time < 3; time += 1) {
    t.match(await client.get('tools/call', { name: 'a__x' }), {
      code: -32603,
      message: 'Server a is not reachable: connection refused',
      data: { server: 'a' },
    })
  }
  t.equal(server.greetings.length, before)
})

t.test('an answer that we cannot write is an error for its client, not silence', async t => {
  const { world, client } = await withTool()
  const call = client.call('tools/call', { name: 'a__x' })
  // No server can send this through our reader: it stands for any bug in writing an answer.
  world
    .server('a')
    .last('tools/call')
    .end(succeeded(rawText('{"content":[{"type":"resource_link","uri":"\\q"}]}')))
  t.match(call.ended, { code: -32603, data: { server: 'a' } })
  t.match(world.router.load, { calls: 0 })
})

t.test('a connection that throws when it is used ends the call, whether it was open or not', async t => {
  const { world, client } = await withTool()
  const server = world.server('a')
  server.isBroken = true
  t.match(await client.get('tools/call', { name: 'a__x' }), { code: -32603, data: { server: 'a' } })
  server.link.drop()
  server.dialling = 'hang'
  await world.pass(1)
  const call = client.call('tools/call', { name: 'a__x' })
  server.admit()
  await settled()
  t.match(call.ended, { code: -32603, data: { server: 'a' } })
  t.match(world.router.load, { calls: 0 })
})

t.test('an error of a server reaches the client as it came', async t => {
  const { world, client } = await withTool()
  const call = client.call('tools/call', { name: 'a__x' })
  world.server('a').last('tools/call').refuse(1234, 'app', { k: 1 })
  t.same(call.ended, { code: 1234, message: 'app', data: { k: 1 } })
})

t.test('when the proxy stops, every call gets an answer', async t => {
  const { world, client } = await withTool()
  const [running, waiting] = [
    client.call('tools/call', { name: 'a__x' }),
    await world.client({ principal: 'p' }),
  ]
  world.server('a').dialling = 'hang'
  const starting = waiting.call('tools/call', { name: 'a__x' })
  await settled()
  await world.router.close()
  await settled()
  t.match([running.ended, starting.ended], [{ code: -32603 }, { code: -32603 }])
  t.equal(world.clock.pending, 0, 'and no timer is left')
  t.match(await client.get('tools/call', { name: 'a__x' }), { code: -32603 })
})

t.test('a large result that takes long to convert is counted by its server and method', async t => {
  for (const [tookMs, length, slow] of [
    [100, 70_000, 1],
    [99, 70_000, 0],
    [100, 60_000, 0],
  ] as const) {
    const clock = new FakeClock()
    class SlowToRepair extends Metrics {
      override counter(family: CounterName, ...values: readonly string[]): Counter {
        if (family === 'mcp_proxy_repairs') clock.advance(tookMs)
        return super.counter(family, ...values)
      }
    }
    const meter = new SlowToRepair({ series: 2000, clock })
    const world = new World({ a: { tools: [tool('x')] } }, { clock, meter })
    const client = await world.client()
    await client.get('tools/list')
    client.call('tools/call', { name: 'a__x' })
    world
      .server('a')
      .last('tools/call')
      .answer({ note: 'x'.repeat(length) })
    const samples = meter.samples('mcp_proxy_slow_results').map(({ labels, value }) => [...labels, value])
    t.same(samples, slow === 0 ? [] : [['a', 'tools/call', slow]])
  }
})

t.test('the time of a server ends with its answer: what is made of that is ours', async t => {
  const clock = new FakeClock()
  class SlowToFix extends Metrics {
    override counter(family: CounterName, ...values: readonly string[]): Counter {
      if (family === 'mcp_proxy_repairs') clock.advance(50)
      return super.counter(family, ...values)
    }
  }
  const meter = new SlowToFix({ series: 2000, clock })
  const world = new World({ a: { tools: [tool('x')] } }, { clock, meter })
  const client = await world.client()
  await client.get('tools/list')
  const call = client.call('tools/call', { name: 'a__x' })
  clock.advance(200)
  world.server('a').last('tools/call').answer({})
  t.same(call.ended, { result: { content: [] } })
  const [asked] = meter.samples('mcp_client_operation_duration_seconds')
  t.match(asked, { value: { sum: 0.2 } })
})
