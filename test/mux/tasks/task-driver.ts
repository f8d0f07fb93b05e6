import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { again, World, wishOf } from '../../support/proxy/router.js'
import type { Script } from '../../support/server/fake-server.js'
import { ALL_ABILITIES, CAN_NOTHING, tool } from '../../support/values.js'

const RELATED = 'io.modelcontextprotocol/related-task'
const FORM = { message: 'Seat?', requestedSchema: { type: 'object', properties: {} } }
const ACCEPT = { action: 'accept' }
const DONE = { content: [{ type: 'text', text: 'done' }] }

type Revision = '2025-11-25' | '2026-07-28'

const taskTool = (taskSupport: string): object => tool('big', { execution: { taskSupport } })

const withTasks = async (
  server: Revision = '2025-11-25',
  client: Revision | '2025-06-18' = '2025-06-18',
  script: Script = {},
  capabilities = ALL_ABILITIES,
) => {
  const more = { tools: [taskTool('required')], revision: server, capabilities: { tasks: true } }
  const world = new World({ a: { ...more, ...script } })
  const peer = await world.client({ revision: client, capabilities })
  await peer.get('tools/list')
  return { world, client: peer, server: world.server('a') }
}

const start = async (client: FakeClient, more: object = {}) => {
  const call = client.call('tools/call', { name: 'a__big', arguments: {} }, more)
  await settled()
  return call
}

/** What a server of 2025-11-25 says when it makes a task, and about one. */
const created = (more: object = {}) => ({ task: { taskId: 't1', status: 'working', ttl: 600_000, ...more } })
const state = (status: string, more: object = {}) => ({ taskId: 't1', status, ttl: 600_000, ...more })

t.test(
  'a tool that is called only as a task is: the task is asked about until its result is there',
  async t => {
    const { world, client, server } = await withTasks()
    const call = await start(client, { wantsProgress: true })
    const request = server.last('tools/call')
    t.match(request, { taskTtlMs: 600_000, followsTasks: true })
    request.progress(1)
    request.becomes(created({ pollInterval: 2000 }))
    await world.pass(1999)
    t.same(server.got('tasks/get'), [])
    await world.pass(1)
    t.same(server.last('tasks/get').params, { taskId: 't1' })
    server.last('tasks/get').answer(state('working', { pollInterval: 10 }))
    await world.pass(999)
    t.equal(server.got('tasks/get').length, 1, 'not more often than once a second')
    await world.pass(1)
    server.last('tasks/get').answer(state('completed'))
    t.same(server.last('tasks/result').params, { taskId: 't1' })
    server.last('tasks/result').answer({ ...DONE, _meta: { [RELATED]: { taskId: 't1' }, 'x/y': 1 } })
    t.same(call.ended, { result: { ...DONE, _meta: { 'x/y': 1 } } })
    t.same(call.progresses, [1])
    await world.pass(60_000)
    t.equal(server.got('tasks/get').length, 2)
    t.equal(server.got('tools/call').length, 1)
    t.match(world.router.load, { calls: 0, serverRequests: 0 })
  },
)

t.test('nothing is left of a task’s name where nothing else was said', async t => {
  const { world, client, server } = await withTasks()
  const call = await start(client)
  server.last('tools/call').becomes(created({ status: 'completed' }))
  server.last('tasks/result').answer({ ...DONE, _meta: { [RELATED]: { taskId: 't1' } } })
  t.same(call.ended, { result: DONE })
  t.match(world.router.load, { calls: 0 })
})

t.test('other tools are called as usual, and an unrequested task is followed too', async t => {
  for (const support of ['optional', 'forbidden', 'strange']) {
    const { client, server } = await withTasks('2025-11-25', '2025-11-25', { tools: [taskTool(support)] })
    const call = await start(client)
    t.equal(server.last('tools/call').taskTtlMs, undefined, support)
    server.last('tools/call').becomes(created({ status: 'completed' }))
    server.last('tasks/result').answer(DONE)
    t.same(call.ended, { result: DONE }, support)
  }
  const { client, server } = await withTasks('2025-11-25', '2025-11-25', { capabilities: {} })
  await start(client)
  t.equal(server.last('tools/call').taskTtlMs, undefined, 'a server that did not say that it knows tasks')
})

t.test('a tool of which nothing is known yet is looked up before it is called', async t => {
  const world = new World(
    {
      a: { tools: [taskTool('required')], capabilities: { tasks: true } },
    },
    { isAlone: true },
  )
  const client = await world.client()
  client.call('tools/call', { name: 'big' })
  await settled()
  t.equal(world.server('a').last('tools/call').taskTtlMs, 600_000)
})

t.test(
  'a server that speaks of its task is not silent; one that does not is timed out, and its task cancelled',
  async t => {
    const timeouts = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 600_000 }
    const { world, client, server } = await withTasks('2025-11-25', '2025-06-18', { options: { timeouts } })
    const call = await start(client)
    server.last('tools/call').becomes(created({ pollInterval: 5000 }))
    for (let n = 0; n < 10; n += 1) {
      await world.pass(5000)
      server.last('tasks/get').answer(state('working', { pollInterval: 5000 }))
    }
    t.same(call.ends, [])
    await world.pass(11_000, 500)
    t.match(call.ended, { code: -32603, message: /Timed out/ })
    t.same(server.last('tasks/cancel').params, { taskId: 't1' })
  },
)

t.test('how a task failed is how the call does', async t => {
  const ends: readonly (readonly [string, (world: Awaited<ReturnType<typeof withTasks>>) => void, object])[] =
    [
      [
        'its result is an error',
        ({ server }) => {
          server.last('tasks/get').answer(state('failed'))
          server.last('tasks/result').refuse(-32050, 'no')
        },
        { code: -32050, message: 'no' },
      ],
      [
        'its result says so',
        ({ server }) => {
          server.last('tasks/get').answer(state('failed'))
          server.last('tasks/result').answer({ content: [], isError: true })
        },
        { result: { isError: true } },
      ],
      [
        'it was cancelled there',
        ({ server }) => {
          server.last('tasks/get').answer(state('cancelled'))
          server.last('tasks/result').refuse(-32602, 'cancelled')
        },
        { code: -32602 },
      ],
      [
        'it is not known any more',
        ({ server }) => server.last('tasks/get').refuse(-32602, 'Task not found'),
        { code: -32602 },
      ],
      [
        'the server says nonsense',
        ({ server }) => server.last('tasks/get').answer({ taskId: 't1', status: 'odd' }),
        { code: -32603, data: { server: 'a' } },
      ],
      [
        'the server speaks of another',
        ({ server }) => server.last('tasks/get').answer({ ...state('working'), taskId: 't2' }),
        { code: -32603 },
      ],
      ['the connection breaks', ({ server }) => server.link.drop(), { code: -32603, data: { server: 'a' } }],
      [
        'the session was lost',
        ({ server }) => server.last('tasks/get').end(failed(new Fault('session-lost', 'gone'))),
        { code: -32603, data: { server: 'a' } },
      ],
    ]
  for (const [why, end, expected] of ends) {
    const scene = await withTasks()
    const call = await start(scene.client)
    scene.server.last('tools/call').becomes(created())
    await scene.world.pass(1000)
    end(scene)
    await settled()
    t.match(call.ended, expected, why)
    t.equal(scene.server.got('tools/call').length, 1, `${why}: never called again`)
    t.match(scene.world.router.load, { calls: 0 })
  }
  const { client, server } = await withTasks()
  const call = await start(client)
  server.last('tools/call').becomes({ task: { status: 'working' } })
  t.match(call.ended, { code: -32603 }, 'a task without a name')
})

// ── cancellation ──

t.test('a cancelled call of a task is cancelled in the way of tasks, and in no other', async t => {
  const { world, client, server } = await withTasks()
  const call = await start(client)
  server.last('tools/call').becomes(created())
  await world.pass(1000)
  call.cancel('user')
  t.same(server.last('tasks/cancel').params, { taskId: 't1' })
  t.same([server.last('tools/call').cancels, server.last('tasks/get').cancels], [[], []])
  await world.pass(10_000)
  t.same(
    server.last('tasks/get').cancels,
    ['the client no longer waits for it'],
    'what stays open is not waited for for ever',
  )
  t.match(world.router.load, { calls: 0 })
})

t.test('a task that was asked for is cancelled when its name is known, a plain call at once', async t => {
  const asked = await withTasks()
  const call = await start(asked.client)
  call.cancel('user')
  t.same(asked.server.last('tools/call').cancels, [])
  asked.server.last('tools/call').becomes(created())
  t.same(asked.server.last('tasks/cancel').params, { taskId: 't1' })
  t.same(asked.server.got('tasks/get'), [])

  const plain = await withTasks('2025-11-25', '2025-06-18', { tools: [taskTool('optional')] })
  const other = await start(plain.client)
  other.cancel('user')
  t.same(plain.server.last('tools/call').cancels, ['user'])
})

// ── questions of tasks ──

t.test('unanswered requests about an abandoned task are dropped after a while', async t => {
  const { world, client, server } = await withTasks()
  const unmade = await start(client)
  unmade.cancel('user')
  const done = await start(client)
  server.last('tools/call').becomes(created())
  await world.pass(1000)
  const status = server.last('tasks/get')
  status.answer(state('input_required'))
  await world.pass(1000)
  server.last('tasks/result').answer(DONE)
  t.same(done.ended, { result: DONE })
  const unanswered = [server.got('tools/call')[0], server.last('tasks/get')]
  await world.pass(9999)
  t.same(
    unanswered.map(request => request?.cancels),
    [['the client no longer waits for it'], []],
  )
  await world.pass(1)
  t.same(
    unanswered.map(request => request?.cancels),
    [['the client no longer waits for it'], ['the client no longer waits for it']],
  )
})

t.test('a question that names its task reaches the client of that call, without the name', async t => {
  const { world, client, server } = await withTasks('2025-11-25', '2025-11-25')
  const other = await world.client()
  const call = await start(client)
  await start(other)
  server.got('tools/call')[0]?.becomes(created())
  await world.pass(1000)
  server.last('tasks/get').answer(state('input_required'))
  t.same(server.last('tasks/result').params, { taskId: 't1' })
  const ask = server.link.ask('elicitation/create', { ...FORM, _meta: { [RELATED]: { taskId: 't1' } } })
  t.same(other.asked, [])
  t.equal(client.asked[0]?.during, call)
  t.same(JSON.parse(client.asked[0]?.ask.params?.toString() ?? ''), FORM)
  client.asked[0]?.ask.answer(succeeded(textOf(ACCEPT)))
  t.same(ask.answered, { result: ACCEPT })
  await world.pass(1000)
  server.last('tasks/get').answer(state('working'))
  await world.pass(1000)
  server.last('tasks/get').answer(state('completed'))
  t.equal(server.got('tasks/result').length, 1, 'it is asked for once')
  server.last('tasks/result').answer(DONE)
  t.same(call.ended, { result: DONE })
})

t.test('a question on the stream of the request for the result belongs to the call', async t => {
  const { world, client, server } = await withTasks('2025-11-25', '2026-07-28')
  const [first] = [await start(client), await start(client)]
  server.got('tools/call')[0]?.becomes(created({ status: 'input_required' }))
  const ask = server.link.ask('elicitation/create', FORM, server.last('tasks/result'))
  await world.pass(10)
  if (first === undefined) return t.fail('no call')
  const retry = again(first, { '1-1': ACCEPT })
  t.same(ask.answered, { result: ACCEPT })
  server.last('tasks/result').answer(DONE)
  t.same(retry.ended, { result: DONE })
})

t.test('an unknown task is ignored', async t => {
  const { world, client, server } = await withTasks('2025-11-25', '2025-11-25')
  const other = await world.client()
  await start(client)
  await start(other)
  const ask = server.link.ask('elicitation/create', { ...FORM, _meta: { [RELATED]: { taskId: 'tX' } } })
  t.match(ask.answered, { code: -32602, message: /^No single client request/ })
})

// ── tasks of the extension: questions and result stand beside the status ──

const flat = (status = 'working', more: object = {}) => ({ resultType: 'task', ...state(status), ...more })

t.test('a task of the extension is followed for every client; its result is in its status', async t => {
  for (const revision of ['2025-06-18', '2025-11-25', '2026-07-28'] as const) {
    const { world, client, server } = await withTasks('2026-07-28', revision)
    const call = await start(client)
    t.match(server.last('tools/call'), { followsTasks: true, taskTtlMs: undefined })
    server.last('tools/call').becomes(flat())
    await world.pass(1000)
    t.match(server.last('tasks/get'), { params: { taskId: 't1' }, followsTasks: true })
    t.same(server.last('tasks/get').requester, server.last('tools/call').requester)
    server.last('tasks/get').becomes(flat('working', { pollIntervalMs: 3000 }))
    await world.pass(3000)
    server.last('tasks/get').answer(state('completed', { result: DONE }))
    t.same(call.ended, { result: DONE }, revision)
    t.same(server.got('tasks/result'), [])
    t.match(world.router.load, { calls: 0 })
  }
})

t.test('a server without the extension is not offered to make tasks', async t => {
  const { client, server } = await withTasks('2026-07-28', '2025-11-25', { capabilities: {} })
  await start(client)
  t.equal(server.last('tools/call').followsTasks, false)
})

t.test('how such a task failed is how the call does', async t => {
  const rows: readonly (readonly [object, object])[] = [
    [state('failed', { error: { code: -32050, message: 'no' } }), { code: -32050, message: 'no' }],
    [state('failed'), { code: -32603, data: { server: 'a' } }],
    [state('completed'), { code: -32603, data: { server: 'a' } }],
    [state('cancelled'), { code: -32603, message: 'Server a cancelled a task' }],
  ]
  for (const [end, expected] of rows) {
    const { client, server, world } = await withTasks('2026-07-28')
    const call = await start(client)
    server.last('tools/call').becomes(flat())
    await world.pass(1000)
    server.last('tasks/get').answer(end)
    t.match(call.ended, expected, JSON.stringify(end))
  }
})

const WISH = { inputRequests: { k: { method: 'elicitation/create', params: { mode: 'form', ...FORM } } } }

t.test('questions of such a task are put to a client that is asked, and its answers to the task', async t => {
  const { world, client, server } = await withTasks('2026-07-28', '2025-11-25')
  const call = await start(client)
  server.last('tools/call').becomes(flat())
  await world.pass(1000)
  server.last('tasks/get').answer(state('input_required', WISH))
  t.equal(client.asked[0]?.during, call)
  await world.pass(60_000)
  t.equal(server.got('tasks/get').length, 1, 'nothing to ask about meanwhile')
  client.asked[0]?.ask.answer(succeeded(textOf({ action: 'accept', content: { a: 1 } })))
  t.same(server.last('tasks/update').params, {
    taskId: 't1',
    inputResponses: { k: { action: 'accept', content: { a: 1 } } },
  })
  server.last('tasks/update').answer({})
  await world.pass(1000)
  server.last('tasks/get').answer(state('input_required', WISH))
  t.equal(client.asked.length, 1, 'the status may be behind: the same is not asked twice')
  await world.pass(1000)
  server.last('tasks/get').answer(state('completed', { result: DONE }))
  t.same(call.ended, { result: DONE })
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
})

t.test(
  'questions of such a task are returned to a client that is asked in that way, and its call is parked',
  async t => {
    const { world, client, server } = await withTasks('2026-07-28', '2026-07-28')
    const call = await start(client)
    server.last('tools/call').becomes(flat('input_required', WISH))
    await world.pass(10)
    t.same(wishOf(call).inputRequests, { '1-1': WISH.inputRequests.k })
    const retry = again(call, { '1-1': ACCEPT })
    t.same(server.last('tasks/update').params, { taskId: 't1', inputResponses: { k: ACCEPT } })
    server.last('tasks/update').answer({})
    await world.pass(1000)
    server.last('tasks/get').answer(state('completed', { result: DONE }))
    t.same(retry.ended, { result: DONE })
    t.equal(server.got('tools/call').length, 1)
    t.match(world.router.load, { calls: 0, serverRequests: 0 })
  },
)

t.test('a task with unanswered or unanswerable questions is cancelled', async t => {
  const late = await withTasks('2026-07-28', '2026-07-28')
  await start(late.client)
  late.server.last('tools/call').becomes(flat('input_required', WISH))
  await late.world.pass(10)
  await late.world.pass(600_000)
  t.same(late.server.last('tasks/cancel').params, { taskId: 't1' })
  t.same(late.server.got('tasks/update'), [])
  t.match(late.world.router.load, { calls: 0, serverRequests: 0 })

  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    const { client, server, world } = await withTasks('2026-07-28', revision, {}, CAN_NOTHING)
    const call = await start(client)
    server.last('tools/call').becomes(flat('input_required', WISH))
    t.match(call.ended, { result: { isError: true, content: [{ text: /cannot provide/ }] } }, revision)
    t.same(server.last('tasks/cancel').params, { taskId: 't1' })
    t.match(world.router.load, { calls: 0, serverRequests: 0 })
  }
})

t.test('a client that cancels while a task asks it something is asked no more', async t => {
  const { client, server, world } = await withTasks('2026-07-28', '2025-11-25')
  const call = await start(client)
  server.last('tools/call').becomes(flat('input_required', WISH))
  call.cancel('user')
  t.ok(client.asked[0]?.withdrawn)
  client.asked[0]?.ask.answer(succeeded(textOf(ACCEPT)))
  t.same(server.got('tasks/update'), [])
  t.same(server.last('tasks/cancel').params, { taskId: 't1' })
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
})

t.test('a task that asks for ever is cancelled', async t => {
  const { client, server, world } = await withTasks('2026-07-28', '2025-11-25')
  const call = await start(client)
  const wish = (n: number) => ({ inputRequests: { [`k${n}`]: WISH.inputRequests.k } })
  server.last('tools/call').becomes(flat('input_required', wish(0)))
  for (let n = 1; n <= 10; n += 1) {
    client.asked.at(-1)?.ask.answer(succeeded(textOf(ACCEPT)))
    server.last('tasks/update').answer({})
    await world.pass(1000)
    server.last('tasks/get').answer(state('input_required', wish(n)))
  }
  t.match(call.ended, { result: { isError: true, content: [{ text: /more than 10 times/ }] } })
  t.equal(server.got('tasks/cancel').length, 1)
})

t.test('a task may follow on questions that the call itself returned', async t => {
  const { client, server, world } = await withTasks('2026-07-28', '2025-11-25')
  const call = await start(client)
  server.last('tools/call').returns(WISH.inputRequests, 'S')
  client.asked[0]?.ask.answer(succeeded(textOf(ACCEPT)))
  server.last('tools/call').becomes(flat())
  await world.pass(1000)
  server.last('tasks/get').answer(state('completed', { result: DONE }))
  t.same(call.ended, { result: DONE })
  t.equal(server.got('tools/call').length, 2)
})
