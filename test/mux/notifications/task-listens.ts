import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { failed } from '../../../src/model/outcome.js'
import type { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import type { FakeRequest, Script } from '../../support/server/fake-server.js'
import { ALL_ABILITIES, tool } from '../../support/values.js'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const REPORTED = 'notifications/tasks'
const LISTEN = 'subscriptions/listen'

const script: Script = {
  tools: [tool('big')],
  revision: '2026-07-28',
  capabilities: { tasks: true },
  announced: { extensions: { [EXTENSION]: {} } },
}

const CAPABILITIES = {
  ...ALL_ABILITIES,
  declared: {
    extensions: new Map([[EXTENSION, textOf({})]]),
    experimental: undefined,
    others: [],
    revision: '2026-07-28',
    withheld: [],
  },
} as const

const follower = (world: World, more: object = {}): Promise<FakeClient> =>
  world.client({ revision: '2026-07-28', capabilities: CAPABILITIES, ...more })

/** Creates a task at a server, and returns the id of the client. */
const create = async (world: World, client: FakeClient, server: string, own: string): Promise<string> => {
  await client.get('tools/list')
  const call = client.call('tools/call', { name: `${server}__big` })
  await settled()
  world.server(server).last('tools/call').becomes({ resultType: 'task', taskId: own, status: 'working' })
  return (call.ended as { result: { taskId: string } }).result.taskId
}

const listen = async (client: FakeClient, taskIds: readonly string[]): Promise<FakeCall> => {
  const call = client.call(LISTEN, { notifications: { taskIds } })
  await settled()
  return call
}

const acknowledge = (request: FakeRequest, ...taskIds: readonly string[]): void =>
  request.notice(ACKNOWLEDGED, { notifications: taskIds.length === 0 ? {} : { taskIds } })

/** A client that listens to one task at each of two servers. */
const start = async () => {
  const world = new World({ a: script, b: script })
  const client = await follower(world)
  const ids = [await create(world, client, 'a', 't1'), await create(world, client, 'b', 't1')] as const
  const call = await listen(client, [...ids, 't1', 'what'])
  return { world, client, ids, call, a: world.server('a'), b: world.server('b') }
}

t.test('each server is asked about its own tasks, and the client is told what they accepted', async t => {
  const { a, b, ids, call } = await start()
  for (const server of [a, b]) {
    t.same(server.last(LISTEN).params, { notifications: { taskIds: ['t1'] } })
    t.ok(server.last(LISTEN).requester?.capabilities.declared?.extensions.has(EXTENSION))
  }
  acknowledge(a.last(LISTEN), 't1')
  await settled()
  t.same(call.told, [], 'the other server has not answered yet')
  acknowledge(b.last(LISTEN))
  await settled()
  t.same(call.told, [[ACKNOWLEDGED, { notifications: { taskIds: [ids[0]] } }]])
  t.equal(b.last(LISTEN).cancels.length, 1, 'nothing is expected of that server')
})

t.test('a task is reported under the client’s id, with its result in the client’s words', async t => {
  const { a, b, ids, call } = await start()
  acknowledge(a.last(LISTEN), 't1')
  acknowledge(b.last(LISTEN), 't1')
  await settled()
  call.told.splice(0)
  const content = [{ type: 'resource_link', uri: 'mem:r', name: 'r' }]
  b.last(LISTEN).notice(REPORTED, { taskId: 't1', status: 'completed', result: { content } })
  t.same(call.told, [
    [
      REPORTED,
      {
        taskId: ids[1],
        status: 'completed',
        result: { content: [{ type: 'resource_link', uri: 'b+mem:r', name: 'r' }] },
      },
    ],
  ])
  b.last(LISTEN).notice(REPORTED, { taskId: 't2', status: 'completed' })
  const inputRequests = { k: { method: 'tasks/list' } }
  a.last(LISTEN).notice(REPORTED, { taskId: 't1', status: 'input_required', inputRequests })
  t.equal(call.told.length, 1, 'neither another task nor a question that the client cannot answer')
  call.cancel()
  for (const server of [a, b]) t.equal(server.last(LISTEN).cancels.length, 1)
})

t.test('a silent server delays nothing for long, and its late acknowledgement changes nothing', async t => {
  const { world, a, b, ids, call } = await start()
  acknowledge(a.last(LISTEN), 't1')
  await world.pass(5000, 100)
  t.same(call.told, [[ACKNOWLEDGED, { notifications: { taskIds: [ids[0]] } }]])
  acknowledge(b.last(LISTEN), 't1')
  b.last(LISTEN).notice(REPORTED, { taskId: 't1', status: 'working' })
  t.equal(call.told.length, 1)
})

t.test('a stream that a server ended is opened again; one that it refused is not', async t => {
  const { world, a, b, call, ids } = await start()
  acknowledge(a.last(LISTEN), 't1')
  b.last(LISTEN).end({ kind: 'error', error: textOf({ code: -32601, message: 'no' }) })
  await settled()
  a.last(LISTEN).end(failed(new Fault('disconnected', 'it broke')))
  await world.pass(2000)
  t.equal(a.got(LISTEN).length, 2)
  t.equal(b.got(LISTEN).length, 1)
  acknowledge(a.last(LISTEN), 't1')
  a.last(LISTEN).notice(REPORTED, { taskId: 't1', status: 'working' })
  t.same(call.told.at(-1), [REPORTED, { taskId: ids[0], status: 'working' }])
  t.equal(call.told.length, 2, 'the client is told of one acknowledgement')
  world.router.closing()
  t.match(call.ended, { result: {} })
  t.equal(a.last(LISTEN).cancels.length, 1)
})

t.test('nobody listens to the tasks of others, and a listening request has at most 1000', async t => {
  const { world, a, ids } = await start()
  const before = a.got(LISTEN).length
  const other = await follower(world, { principal: 'bob' })
  const call = await listen(other, ids)
  t.same(call.told, [[ACKNOWLEDGED, { notifications: {} }]])
  t.equal(a.got(LISTEN).length, before)
  const client = await follower(world)
  await listen(client, [...Array.from({ length: 1000 }, (_, n) => `t1.${n}`), ids[0]])
  t.equal(a.got(LISTEN).length, before, 'the last one is left out')
  t.match(await client.get(LISTEN, { notifications: { taskIds: 't1' } }), { code: -32602 })
  t.match(await client.get(LISTEN, { notifications: { taskIds: [1] } }), { code: -32602 })
})
