import t from 'tap'
import { accessOf } from '../../../src/auth/resource-server/access-rules.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { ClientCapabilities } from '../../../src/model/peer.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World, type WorldOptions } from '../../support/proxy/router.js'
import type { Script } from '../../support/server/fake-server.js'
import { ALL_ABILITIES, tool } from '../../support/values.js'

const META = 'io.modelcontextprotocol/'
const EXTENSION = `${META}tasks`
const RELATED = `${META}related-task`
const DONE = { content: [{ type: 'resource_link', uri: 'mem:r', name: 'r' }] }
const SHOWN = { content: [{ type: 'resource_link', uri: 'a+mem:r', name: 'r' }] }
const NOT_FOUND = { code: -32602, message: 'Failed to retrieve task: Task not found' }
const LIFE = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' }

/** A server with tasks in the form of its revision. */
const modern: Script = {
  tools: [tool('big')],
  revision: '2026-07-28',
  capabilities: { tasks: true },
  announced: { extensions: { [EXTENSION]: {} } },
}
const legacy: Script = {
  tools: [
    tool('big', { execution: { taskSupport: 'optional' } }),
    tool('must', { execution: { taskSupport: 'required' } }),
    tool('small', { execution: { taskSupport: 'forbidden' } }),
    tool('bare'),
  ],
  revision: '2025-11-25',
  capabilities: { tasks: true },
  announced: { tasks: { requests: { tools: { call: {} } } } },
}

/** What a client of 2026-07-28 declares. */
const declaring = (...ids: readonly string[]): ClientCapabilities => ({
  ...ALL_ABILITIES,
  declared: {
    extensions: new Map(ids.map(id => [id, textOf({})])),
    experimental: undefined,
    others: [],
    revision: '2026-07-28',
    withheld: [],
  },
})

const start = async (script: Script, options?: WorldOptions) => {
  const world = new World({ a: script, b: script }, options)
  return { world, a: world.server('a'), b: world.server('b') }
}

const follower = async (world: World, more: object = {}): Promise<FakeClient> => {
  const client = await world.client({
    revision: '2026-07-28',
    capabilities: declaring(EXTENSION),
    ...more,
  })
  await client.get('tools/list')
  return client
}

const session = async (world: World, more: object = {}): Promise<FakeClient> => {
  const client = await world.client({ revision: '2025-11-25', ...more })
  await client.get('tools/list')
  return client
}

/** The task that a call became, as its client knows it. */
const idIn = (ended: unknown): string => {
  const { result } = ended as { result: { taskId?: string; task?: { taskId: string } } }
  return result.taskId ?? result.task?.taskId ?? ''
}

/** Calls a tool whose server makes a task of it, and returns the client's id. */
const create = async (
  world: World,
  client: FakeClient,
  { server = 'a', own = 't1', name = 'big' } = {},
): Promise<string> => {
  const isModern = client.revision === '2026-07-28'
  const params = { name: `${server}__${name}`, ...(!isModern && { task: { ttl: 1000 } }) }
  const call = client.call('tools/call', params)
  await settled()
  const task = { taskId: own, status: 'working', ...LIFE, more: 1 }
  const request = world.server(server).last('tools/call')
  request.becomes(isModern ? { resultType: 'task', ...task } : { task })
  return idIn(call.ended)
}

t.test('a task of 2026-07-28 reaches the client that follows it, and its call is over', async t => {
  const { world, a } = await start(modern)
  const client = await follower(world)
  const call = client.call('tools/call', { name: 'a__big', arguments: { n: 1 } })
  await settled()
  const request = a.last('tools/call')
  t.same([...(request.requester?.capabilities.declared?.extensions.keys() ?? [])], [EXTENSION])
  request.becomes({ resultType: 'task', taskId: 't1', status: 'working', ...LIFE, ttlMs: 5, x: 1 })
  t.match(call.ended, { result: { resultType: 'task', status: 'working', ...LIFE, ttlMs: 5, x: 1 } })
  t.match(idIn(call.ended), /^t1\.v1\.k1\.[\w-]+$/)
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
  await world.pass(60_000)
  t.same(a.got('tasks/get'), [], 'the proxy does not ask about it')
})

t.test('a request about a task goes to its server under the own id, and back under the client’s', async t => {
  const { world, a, b } = await start(modern)
  const client = await follower(world)
  const [one, other] = [await create(world, client), await create(world, client, { server: 'b' })]
  const call = client.call('tasks/get', { taskId: other, x: 1 })
  await settled()
  t.same(a.got('tasks/get'), [])
  t.same(b.last('tasks/get').params, { taskId: 't1', x: 1 })
  b.last('tasks/get').answer({ resultType: 'complete', taskId: 't1', status: 'completed', result: DONE })
  const shown = { content: [{ type: 'resource_link', uri: 'b+mem:r', name: 'r' }] }
  t.same(call.ended, { result: { taskId: other, status: 'completed', result: shown } })
  const inputResponses = { k: { action: 'accept', content: { n: 1 } } }
  const update = client.call('tasks/update', { taskId: one, inputResponses })
  await settled()
  t.same(a.last('tasks/update').params, { taskId: 't1', inputResponses })
  a.last('tasks/update').answer({ resultType: 'complete' })
  t.same(update.ended, { result: {} })
  client.call('tasks/cancel', { taskId: one })
  await settled()
  t.same(a.last('tasks/cancel').params, { taskId: 't1' })
})

t.test('questions in a task keep their bytes; one that the request did not declare is an error', async t => {
  const { world, a } = await start(modern)
  const client = await follower(world)
  const taskId = await create(world, client)
  const ask = (method: string, params: object) => ({ q: { method, params } })
  const get = async (inputRequests: object) => {
    const call = client.call('tasks/get', { taskId })
    await settled()
    a.last('tasks/get').answer({ taskId: 't1', status: 'input_required', inputRequests })
    return call.ended
  }
  const sampling = ask('sampling/createMessage', { messages: [], maxTokens: 1, includeContext: 'thisServer' })
  t.same(await get(sampling), { result: { taskId, status: 'input_required', inputRequests: sampling } })
  const wrong = { code: -32603, message: /asked for input that this client cannot provide/ }
  t.match(await get(ask('tasks/list', {})), wrong)
  t.match(await get([]), { code: -32603 })
  const lacking = await follower(world, {
    capabilities: { ...declaring(EXTENSION), sampling: undefined },
  })
  const call = lacking.call('tasks/get', { taskId })
  await settled()
  a.last('tasks/get').answer({ taskId: 't1', status: 'input_required', inputRequests: sampling })
  t.match(call.ended, wrong)
})

t.test('every id that is not the client’s own gets the same answer', async t => {
  const { world } = await start(modern)
  const client = await follower(world)
  const taskId = await create(world, client)
  const other = await follower(world, { principal: 'bob' })
  const get = (peer: FakeClient, params: object | string) =>
    peer.get('tasks/get', params as never) as Promise<{ code: number; message: string; data: unknown }>
  const answers = [
    await get(other, { taskId }),
    await get(client, { taskId: 't1' }),
    await get(client, { taskId: `${taskId}A` }),
    await get(client, { taskId: taskId.slice(3) }),
    await get(client, { taskId: `t1.${'x'.repeat(100_000)}` }),
    await get(client, { taskId: 7 }),
    await get(client, {}),
    await get(client, `{"taskId":"${taskId}","taskId":"t1"}`),
  ]
  for (const answer of answers) t.match(answer, NOT_FOUND)
  t.equal(new Set(answers.map(answer => JSON.stringify(answer))).size, 1)
  const { world: changed } = await start({ ...legacy, otherRevision: '2026-07-28' })
  const inSession = await session(changed)
  const own = await create(changed, inSession)
  const isLater = await follower(changed)
  t.match(await get(isLater, { taskId: own }), { code: -32601 }, 'this server has none of 2026-07-28')
  const both = await follower(world)
  t.match(await get(both, { taskId: own }), NOT_FOUND, 'of the other era')
})

t.test('an id of more than 1 KiB does not reach the client', async t => {
  const { world, a } = await start(modern)
  const client = await follower(world)
  t.match(await create(world, client, { own: 'i'.repeat(1024) }), /^t1\./)
  const call = client.call('tools/call', { name: 'a__big' })
  await settled()
  a.last('tools/call').becomes({ resultType: 'task', taskId: 'i'.repeat(1025), status: 'working' })
  t.match(call.ended, { code: -32603, message: /an id of more than 1024 bytes/ })
  t.same(a.last('tasks/cancel').params, { taskId: 'i'.repeat(1025) })
  const invalid = client.call('tools/call', { name: 'a__big' })
  await settled()
  a.last('tools/call').becomes({ resultType: 'task', taskId: 5, status: 'working' })
  t.match(invalid.ended, { code: -32603, message: /invalid data about a task/ })
})

t.test(
  'clients that do not follow tasks get results, and errors about methods that they do not have',
  async t => {
    const { world, a } = await start(modern)
    const client = await follower(world, { capabilities: declaring() })
    const call = client.call('tools/call', { name: 'a__big' })
    await settled()
    a.last('tools/call').becomes({ resultType: 'task', taskId: 't1', status: 'completed', result: DONE })
    t.same(call.ended, { result: SHOWN })
    const missing = {
      code: -32021,
      message: 'Missing required client capability',
      data: { requiredCapabilities: { extensions: { [EXTENSION]: {} } } },
    }
    t.same(await client.get('tasks/get', { taskId: 't1' }), missing)
    t.same(await client.get('subscriptions/listen', { notifications: { taskIds: [] } }), missing)
    const old = await world.client({ revision: '2025-06-18' })
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update', 'tasks/list'])
      t.match(await old.get(method, { taskId: 't1' }), { code: -32601 }, method)
    const plain = new World({ a: { tools: [tool('x')], revision: '2026-07-28' } })
    const alone = await follower(plain)
    t.match(await alone.get('tasks/get', { taskId: 't1' }), { code: -32601 }, 'no server has tasks')
  },
)

t.test('tasks are announced to clients that can follow those of a visible server', async t => {
  const offers = async (scripts: Readonly<Record<string, Script>>, revision: '2025-11-25' | '2026-07-28') => {
    const world = new World(scripts)
    const client = await world.client({ revision })
    const { capabilities } = await world.router.welcome(client)
    return { tasks: capabilities.tasks === true, extensions: [...(capabilities.extensions?.keys() ?? [])] }
  }
  const nothing = { tasks: false, extensions: [] }
  t.same(await offers({ a: modern }, '2026-07-28'), { tasks: true, extensions: [EXTENSION] })
  t.same(await offers({ a: modern }, '2025-11-25'), nothing)
  t.same(await offers({ a: legacy }, '2025-11-25'), { tasks: true, extensions: [] })
  t.same(await offers({ a: legacy }, '2026-07-28'), nothing)
  const liar = { ...legacy, announced: { extensions: { [EXTENSION]: {} } } }
  t.same(await offers({ a: liar }, '2026-07-28'), nothing, 'an older server cannot have the extension')
})

t.test('a session asks for a task where the tool allows it, and only there', async t => {
  const { world, a } = await start(legacy)
  const client = await session(world)
  const call = client.call('tools/call', { name: 'a__big', arguments: {}, task: { ttl: 1000, x: 1 } })
  await settled()
  t.equal(a.last('tools/call').task, '{"ttl":1000,"x":1}')
  a.last('tools/call').becomes({ task: { taskId: 't1', status: 'working', ...LIFE, ttl: 1000 } })
  t.match(call.ended, { result: { task: { status: 'working', ...LIFE, ttl: 1000 } } })
  t.match(idIn(call.ended), /^t1\./)
  t.match(world.router.load, { calls: 0 })
  for (const name of ['small', 'bare'])
    t.match(await client.get('tools/call', { name: `a__${name}`, task: {} }), {
      code: -32601,
      message: `Tool a__${name} does not support tasks`,
    })
  const driven = client.call('tools/call', { name: 'a__must' })
  await settled()
  t.equal(a.last('tools/call').taskTtlMs, 600_000)
  t.same(driven.ends, [])
  for (const script of [{ ...legacy, announced: {}, capabilities: {} }, modern]) {
    const other = (await start(script)).world
    const peer = await session(other)
    const plain = peer.call('tools/call', { name: 'a__big', task: {} })
    await settled()
    const request = other.server('a').last('tools/call')
    t.equal(request.task, undefined, 'other servers are called as usual')
    request.answer(DONE)
    t.same(plain.ended, { result: SHOWN })
  }
})

t.test('a session gets the result, the state and the questions of its task under its own id', async t => {
  const { world, a } = await start(legacy)
  const client = await session(world)
  const bystander = await session(world)
  const taskId = await create(world, client)
  const link = a.link
  link.notice('notifications/tasks/status', { taskId: 't1', status: 'input_required', ...LIFE })
  link.notice('notifications/tasks/status', { taskId: 't2', status: 'working', ...LIFE })
  t.same(client.heard('notifications/tasks/status'), [{ taskId, status: 'input_required', ...LIFE }])
  const params = { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: {} } }
  const question = { ...params, _meta: { [RELATED]: { taskId: 't1' }, 'x/y': 1 } }
  const ask = link.ask('elicitation/create', question)
  const [asked] = client.asked
  t.same(asked && JSON.parse(String(asked.ask.params)), {
    ...params,
    _meta: { [RELATED]: { taskId }, 'x/y': 1 },
  })
  asked?.ask.answer({
    kind: 'result',
    result: textOf({ action: 'accept', content: {}, _meta: { [RELATED]: { taskId } } }),
  })
  t.match(ask.answered, { result: { action: 'accept', _meta: { [RELATED]: { taskId: 't1' } } } })
  const call = client.call('tasks/result', { taskId })
  await settled()
  t.same(a.last('tasks/result').params, { taskId: 't1' })
  link.ask('elicitation/create', question)
  t.equal(client.asked[1]?.during?.method, 'tasks/result', 'on the stream of its request')
  client.asked[1]?.ask.answer({ kind: 'result', result: textOf({ action: 'decline' }) })
  a.last('tasks/result').answer({ ...DONE, isError: true, _meta: { [RELATED]: { taskId: 't1' } } })
  t.same(call.ended, { result: { ...SHOWN, isError: true, _meta: { [RELATED]: { taskId } } } })
  t.same([bystander.told, bystander.asked], [[], []])
  link.notice('notifications/tasks/status', { taskId: 't1', status: 'completed', ...LIFE })
  t.equal(client.heard('notifications/tasks/status').length, 1, 'its result was the last news')
})

t.test('a client answers questions of one of several servers at once, not as a task', async t => {
  const { world, a } = await start(legacy)
  const client = await session(world)
  await create(world, client)
  const params = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
  const _meta = { [RELATED]: { taskId: 't1' } }
  a.link.ask('elicitation/create', { ...params, task: { ttl: 1 }, _meta })
  const { _meta: _shown, ...asked } = JSON.parse(String(client.asked[0]?.ask.params))
  t.same(asked, params)
})

t.test('a waiting result has no total limit, but its server must not be silent', async t => {
  const timeouts = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 20_000 }
  const { world, a } = await start({ ...legacy, options: { timeouts } })
  const client = await session(world)
  const taskId = await create(world, client)
  const call = client.call('tasks/result', { taskId }, { wantsProgress: true })
  await settled()
  for (let n = 0; n < 10; n += 1) {
    await world.pass(5000, 250)
    a.last('tasks/result').progress(n)
  }
  t.same(call.ends, [])
  await world.pass(11_000, 250)
  t.match(call.ended, { code: -32603, message: /Timed out/ })
  const last = client.call('tasks/get', { taskId })
  await settled()
  a.link.drop()
  t.match(last.ended, { code: -32603 }, 'a lost server')
})

t.test('a task of a call that its client cancelled is cancelled too', async t => {
  const { world, a } = await start(legacy)
  const client = await session(world)
  const call = client.call('tools/call', { name: 'a__big', task: {} })
  await settled()
  call.cancel()
  t.same(a.last('tools/call').cancels, [], 'its server has not named it yet')
  a.last('tools/call').becomes({ task: { taskId: 't1', status: 'working' } })
  t.same(a.last('tasks/cancel').params, { taskId: 't1' })
})

t.test('a call through a search tool never becomes a task', async t => {
  for (const script of [modern, legacy]) {
    const toolExposure = { expose: { mode: 'search' } } as const
    const { world, a } = await start(script, { toolExposure })
    const client = script === modern ? await follower(world) : await session(world)
    const call = client.call('tools/call', {
      name: 'call_write_tool',
      arguments: { name: 'a__big', arguments: {} },
      task: { ttl: 1 },
    })
    await settled()
    const request = a.last('tools/call')
    t.equal(request.task, undefined)
    request.becomes({ task: { taskId: 't1', status: 'working' } })
    t.same(call.ends, [], 'the proxy follows it')
    await world.pass(1000)
    t.equal(a.got('tasks/get').length, 1)
  }
})

t.test('progress of a task reaches its session under the token of the call', async t => {
  const { world, a } = await start(legacy)
  const client = await session(world)
  const call = client.call('tools/call', { name: 'a__big', task: {} }, { wantsProgress: true })
  await settled()
  a.last('tools/call').becomes({ task: { taskId: 't1', status: 'working' } })
  const taskId = idIn(call.ended)
  const progress = { progressToken: 7, progress: 1, _meta: { [RELATED]: { taskId: 't1' } } }
  a.link.notice('notifications/progress', progress)
  a.link.notice('notifications/progress', { ...progress, _meta: { [RELATED]: { taskId: 't2' } } })
  t.same(client.told, [
    ['notifications/progress', { progressToken: 'token', progress: 1, _meta: { [RELATED]: { taskId } } }],
  ])
})

t.test('the sessions of the last 1000 tasks of a connection are remembered, until they leave', async t => {
  const { world, a } = await start(legacy)
  const [client, other] = [await session(world), await session(world)]
  for (let n = 0; n <= 1000; n += 1) await create(world, client, { own: `t${n}` })
  for (const own of ['t0', 't1', 't1000'])
    a.link.notice('notifications/tasks/status', { taskId: own, status: 'working' })
  t.equal(client.heard('notifications/tasks/status').length, 2)
  await create(world, other, { own: 'last' })
  client.leave()
  a.link.notice('notifications/tasks/status', { taskId: 't1000', status: 'working' })
  a.link.notice('notifications/tasks/status', { taskId: 'last', status: 'working' })
  t.equal(other.heard('notifications/tasks/status').length, 1)
})

t.test('a caller that may not see a server does not know its tasks', async t => {
  const access = accessOf({ see: ['staff'], call: [] }, silentLogger)
  const { world, a } = await start({ ...modern, showing: { access } })
  const client = await follower(world, { principal: 'ann', scopes: ['staff'] })
  const taskId = await create(world, client)
  const guest = await follower(world, { principal: 'ann', scopes: [] })
  t.match(await guest.get('tasks/get', { taskId }), NOT_FOUND)
  const call = client.call('tasks/get', { taskId })
  await settled()
  t.same(a.last('tasks/get').params, { taskId: 't1' })
  call.cancel()
})

t.test('tools say that they run as tasks only where their server does that', async t => {
  const supports = async (script: Script) => {
    const world = new World({ a: script })
    const client = await world.client()
    const { result } = (await client.get('tools/list')) as {
      result: { tools: { execution?: { taskSupport: string } }[] }
    }
    return result.tools.map(({ execution }) => execution?.taskSupport)
  }
  t.same(await supports(legacy), ['optional', 'required', 'forbidden', undefined])
  const nothing = [undefined, undefined, undefined, undefined]
  t.same(await supports({ ...legacy, announced: {}, capabilities: {} }), nothing)
  t.same(await supports({ ...modern, tools: legacy.tools ?? [] }), nothing)
})
