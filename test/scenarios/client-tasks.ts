import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { OWN_GROUP } from '../support/processes.js'
import { startProxy } from '../support/proxy/start.js'

// Tasks that clients follow by themselves, over real transports: the ids that clients get are the proxy's.

const SERVER = fileURLToPath(new URL('../fixtures/task-server.mjs', import.meta.url))
const META = 'io.modelcontextprotocol/'
const TASKS = { extensions: { [`${META}tasks`]: {} } }
const RELATED = `${META}related-task`
const NOT_FOUND = { code: -32602, message: 'Failed to retrieve task: Task not found' }
const MISSING = { code: -32021, data: { requiredCapabilities: TASKS } }

type Era = 'legacy' | 'modern'

const tasked = (era: Era, more: object = {}) => ({ command: process.execPath, args: [SERVER, era], ...more })

/** Starts a server that keeps its tasks while the proxy restarts. */
const startRemote = async (t: Test, era: Era): Promise<{ url: string }> => {
  const child = spawn(process.execPath, [SERVER, era, 'http'], {
    ...OWN_GROUP,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /^listening (\d+)$/.exec(line)?.[1]
    if (port !== undefined) return { url: `http://127.0.0.1:${port}/mcp` }
  }
  throw new Error('the server ended before it listened')
}

/** A client of either era. */
interface Peer {
  readonly raw: RawClient
  /** Sends a request; the params of a client of 2026-07-28 get its envelope, and their name a header. */
  send(method: string, params?: Loose, more?: { header?: string; capabilities?: object }): Promise<Loose>
  call(tool: string, more?: object): Promise<Loose>
}

const connect = async (t: Test, url: string, era: Era, capabilities: object = TASKS): Promise<Peer> => {
  const raw = new RawClient(url)
  t.teardown(() => raw.vanish())
  let id = 0
  const send: Peer['send'] = async (method, params = {}, more = {}) => {
    id += 1
    if (era === 'legacy') return (await raw.post({ id, method, params })).last.message
    const name = more.header ?? params.taskId ?? params.name
    raw.headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    }
    const envelope = {
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientCapabilities`]: more.capabilities ?? capabilities,
    }
    const answer = await raw.post({
      id,
      method,
      params: { ...params, _meta: { ...params._meta, ...envelope } },
    })
    return { ...answer.last.message, status: answer.status }
  }
  if (era === 'legacy') await raw.initialize({ elicitation: {} })
  const call = (tool: string, more: object = {}) => send('tools/call', { name: tool, arguments: {}, ...more })
  return { raw, send, call }
}

const REQUESTED = { task: { ttl: 60_000 } }

/** Creates a task in the way of the era, and returns its id. */
const create = async (peer: Peer, tool: string): Promise<string> => {
  const { result } = await peer.call(tool, REQUESTED)
  return result.task?.taskId ?? result.taskId
}

const DONE = { content: [{ type: 'resource_link', uri: 'file:///r', name: 'r' }] }

/** Ends a task at its server, which calls it by its own name. */
const finish = (peer: Peer, server: string, id: string, state: object): Promise<Loose> =>
  peer.call(`${server}__finish`, { arguments: { id, state } })

for (const era of ['legacy', 'modern'] as const)
  t.test(`a ${era} client follows the tasks of two servers that call theirs by the same name`, async t => {
    const proxy = startProxy(t, { a: tasked(era), b: tasked(era) })
    const { url } = await proxy.listen({ port: 0 })
    const peer = await connect(t, url, era)
    const [one, other] = [await create(peer, 'a__big'), await create(peer, 'b__big')]
    t.match(one, /^t1\.v1\.[\w-]+\.[\w-]+$/)
    t.not(one, other)
    t.match((await peer.send('tasks/get', { taskId: one })).result, { taskId: one, status: 'working' })
    await finish(peer, 'b', 't1', { status: 'completed', result: DONE })
    t.match((await peer.send('tasks/get', { taskId: one })).result, { taskId: one, status: 'working' })
    const { result } = await peer.send('tasks/get', { taskId: other })
    t.match(result, { taskId: other, status: 'completed' })
    const { uri } = (
      era === 'modern' ? result.result : (await peer.send('tasks/result', { taskId: other })).result
    ).content[0]
    t.equal(uri, 'b+file:///r')
    t.notOk((await peer.send('tasks/cancel', { taskId: one })).error)
    t.match((await peer.send('tasks/get', { taskId: one })).result, { taskId: one, status: 'cancelled' })
    t.equal((await peer.send('tasks/list')).error.code, -32601)
    for (const wrong of ['t1', `${one}x`, one.replace(/^t1/, 't2'), one.slice(3), `${one.slice(0, -2)}AA`])
      t.match((await peer.send('tasks/get', { taskId: wrong })).error, NOT_FOUND, wrong)
  })

t.test('a task goes on at its server while the proxy restarts, and its id stays valid', async t => {
  const servers = { a: await startRemote(t, 'modern'), b: await startRemote(t, 'legacy') }
  const first = startProxy(t, servers)
  const [modern, legacy] = await Promise.all(
    (['modern', 'legacy'] as const).map(async era => connect(t, (await listening(first)).url, era)),
  )
  if (modern === undefined || legacy === undefined) throw new Error('no client')
  const ids = [await create(modern, 'a__big'), await create(legacy, 'b__big')] as const
  await finish(modern, 'a', 't1', { status: 'completed', result: DONE })
  await finish(legacy, 'b', 't1', { status: 'completed', result: DONE })
  await first.close()
  const { url } = await startProxy(t, servers).listen({ port: 0 })
  const [later, session] = [await connect(t, url, 'modern'), await connect(t, url, 'legacy')]
  t.match((await later.send('tasks/get', { taskId: ids[0] })).result, {
    taskId: ids[0],
    status: 'completed',
    result: { content: [{ uri: 'a+file:///r' }] },
  })
  t.match((await session.send('tasks/result', { taskId: ids[1] })).result, {
    content: [{ uri: 'b+file:///r' }],
    _meta: { [RELATED]: { taskId: ids[1] } },
  })
  t.match((await session.send('tasks/get', { taskId: ids[0] })).error, NOT_FOUND, 'of the other era')
  t.match((await later.send('tasks/get', { taskId: ids[1] })).error, NOT_FOUND, 'of the other era')
})

const addresses = new WeakMap<object, Promise<{ url: string }>>()
const listening = (proxy: ReturnType<typeof startProxy>): Promise<{ url: string }> => {
  const known = addresses.get(proxy) ?? proxy.listen({ port: 0 })
  addresses.set(proxy, known)
  return known
}

t.test('replicas with the same keys know each other’s tasks, also those under an old key', async t => {
  const servers = { a: await startRemote(t, 'modern') }
  const [old, recent] = [1, 2].map(fill => Buffer.alloc(32, fill).toString('base64'))
  const replica = (...keys: readonly (string | undefined)[]) =>
    startProxy(t, servers, { more: { requestState: { keys } } }).listen({ port: 0 })
  const [one, other, stranger] = await Promise.all([replica(old), replica(recent, old), replica(recent)])
  const taskId = await create(await connect(t, one.url, 'modern'), 'a__big')
  t.match((await (await connect(t, other.url, 'modern')).send('tasks/get', { taskId })).result, {
    taskId,
    status: 'working',
  })
  t.match((await (await connect(t, stranger.url, 'modern')).send('tasks/get', { taskId })).error, NOT_FOUND)
})

t.test('a view without the server of a task does not know the task', async t => {
  const servers = { a: tasked('modern'), b: tasked('modern') }
  const proxy = startProxy(t, servers, { more: { views: { small: { servers: ['a'] } } } })
  const { url } = await proxy.listen({ port: 0 })
  const whole = await connect(t, url, 'modern')
  const ids = [await create(whole, 'a__big'), await create(whole, 'b__big')] as const
  const small = await connect(t, `${url}/small`, 'modern')
  t.match((await small.send('tasks/get', { taskId: ids[0] })).result, { taskId: ids[0] })
  t.match((await small.send('tasks/get', { taskId: ids[1] })).error, NOT_FOUND)
  const single = await connect(t, url.replace('/mcp', '/servers/b/mcp'), 'modern')
  t.match((await single.send('tasks/get', { taskId: ids[1] })).result, { taskId: ids[1] })
})

for (const sharing of ['principal', 'session', 'all'] as const)
  t.test(`news of a task reach the session that created it, and no other (${sharing})`, async t => {
    const proxy = startProxy(t, { a: tasked('legacy', { sharing }) })
    const { url } = await proxy.listen({ port: 0 })
    const [peer, other] = [await connect(t, url, 'legacy'), await connect(t, url, 'legacy')]
    await Promise.all([peer.raw.listen(), other.raw.listen()])
    await other.call('a__plain')
    const taskId = await create(peer, 'a__big')
    const question = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
    const questions: Loose[] = []
    peer.raw.onAsk = (method, params) => {
      questions.push({ method, params })
      return { action: 'accept', content: {}, _meta: params._meta }
    }
    await finish(peer, 'a', 't1', { status: 'input_required', ...(sharing !== 'all' && { ask: question }) })
    const { message } = await peer.raw.ambientIs(one => one.message.method === 'notifications/tasks/status')
    t.match(message.params, { taskId, status: 'input_required' })
    t.same(other.raw.ambient, [])
    // Nobody may be asked where all share one connection.
    if (sharing === 'all') return
    while ((await peer.send('tasks/get', { taskId })).result.answer === undefined) await setImmediate()
    t.match(questions, [{ method: 'elicitation/create', params: { _meta: { [RELATED]: { taskId } } } }])
    const { answer } = (await peer.send('tasks/get', { taskId })).result
    t.match(answer, { action: 'accept', _meta: { [RELATED]: { taskId: 't1' } } })
  })

t.test('a single server and the session of its task exchange messages about it, also as tasks', async t => {
  const proxy = startProxy(t, { a: tasked('legacy', { sharing: 'principal' }) }, { isAlone: true })
  const { url } = await proxy.listen({ port: 0 })
  const [peer, other] = [await connect(t, url, 'legacy'), await connect(t, url, 'legacy')]
  await Promise.all([peer.raw.listen(), other.raw.listen()])
  await other.call('plain')
  const _meta = { [RELATED]: { taskId: 't1' } }
  t.match(await peer.call('big', { ...REQUESTED, _meta: { progressToken: 'tok' } }), {
    result: { task: { taskId: 't1' } },
  })
  const ask = { message: 'm', requestedSchema: { type: 'object', properties: {} }, task: { ttl: 1 } }
  const questions: Loose[] = []
  const answer = { task: { taskId: 'c1', status: 'working', ttl: 1 } }
  peer.raw.onAsk = (_method, params) => {
    questions.push(params)
    return answer
  }
  await other.call('finish', {
    arguments: { id: 't1', state: { status: 'input_required', ask, progress: 5 } },
  })
  const news = await peer.raw.ambientIs(one => one.message.method === 'notifications/tasks/status')
  t.match(news.message.params, { taskId: 't1', status: 'input_required' })
  const progress = await peer.raw.ambientIs(one => one.message.method === 'notifications/progress')
  t.same(progress.message.params, { progressToken: 'tok', progress: 5, _meta })
  while ((await peer.send('tasks/get', { taskId: 't1' })).result.answer === undefined) await setImmediate()
  t.same(questions, [{ ...ask, _meta }])
  t.same((await peer.send('tasks/get', { taskId: 't1' })).result.answer, answer)
  t.same(other.raw.ambient, [])
})

for (const [server, client, follows] of [
  ['legacy', 'legacy', true],
  ['legacy', 'modern', false],
  ['modern', 'legacy', false],
  ['modern', 'modern', true],
] as const)
  t.test(`a ${client} client and a ${server} server: tasks are ${follows ? 'passed' : 'polled'}`, async t => {
    const proxy = startProxy(t, { a: tasked(server, { sharing: 'all' }) })
    const { url } = await proxy.listen({ port: 0 })
    const [peer, helper] = [await connect(t, url, client), await connect(t, url, server)]
    const { result: tools } = await peer.send('tools/list')
    const supports = tools.tools.flatMap(({ execution }: Loose) => execution?.taskSupport ?? [])
    t.same(supports, follows && client === 'legacy' ? ['optional', 'required', 'forbidden'] : [])
    let isOver = false
    const call = peer.call('a__must', REQUESTED).finally(() => {
      isOver = true
    })
    const isFinished = async () => {
      const { result } = await helper.call('a__seen')
      return isOver || /"name":"must"/.test(result.content[0].text)
    }
    while (!(await isFinished())) await setImmediate()
    await finish(helper, 'a', 't1', { status: 'completed', result: DONE })
    const { result } = await call
    if (follows) t.match(result.task?.taskId ?? result.taskId, /^t1\./)
    else t.match(result, { content: [{ uri: 'a+file:///r' }] })
    t.equal(result.resultType, client === 'legacy' ? undefined : follows ? 'task' : 'complete')
  })

t.test('a request of 2026-07-28 that does not declare tasks gets results only', async t => {
  const proxy = startProxy(t, { a: tasked('modern') })
  const peer = await connect(t, (await proxy.listen({ port: 0 })).url, 'modern')
  const taskId = await create(peer, 'a__big')
  const capabilities = {}
  const missing = await peer.send('tasks/get', { taskId }, { capabilities })
  t.match(missing, { status: 400, error: MISSING })
  const notifications = { taskIds: [taskId] }
  t.match(await peer.send('subscriptions/listen', { notifications }, { capabilities }), {
    status: 400,
    error: MISSING,
  })
  t.match(await peer.send('tasks/get', { taskId }, { header: 't1' }), {
    status: 400,
    error: { code: -32020 },
  })
  t.match(await peer.send('tasks/result', { taskId }), { status: 404, error: { code: -32601 } })
})

t.test('both headers that repeat the name of a task say what their body says', async t => {
  const proxy = startProxy(t, { a: await startRemote(t, 'modern') })
  const peer = await connect(t, (await proxy.listen({ port: 0 })).url, 'modern')
  const taskId = await create(peer, 'a__big')
  await peer.send('tasks/get', { taskId })
  const { result } = await peer.call('a__seen')
  const seen = JSON.parse(result.content[0].text)
  t.match(
    seen.find(({ method }: Loose) => method === 'tasks/get'),
    { mcpName: 't1', params: { taskId: 't1' } },
  )
})

t.test('a client of 2026-07-28 listens to its tasks at all of their servers', async t => {
  const proxy = startProxy(t, { a: tasked('modern'), b: tasked('modern') })
  const { url } = await proxy.listen({ port: 0 })
  const peer = await connect(t, url, 'modern')
  const ids = [await create(peer, 'a__big'), await create(peer, 'b__big')]
  const listener = new RawClient(url)
  t.teardown(() => listener.vanish())
  const next = listenTo(listener, [...ids, 't1', 'unknown'])
  t.same((await next()).params, {
    notifications: { taskIds: ids },
    _meta: { [`${META}subscriptionId`]: 'L' },
  })
  await finish(peer, 'b', 't1', { status: 'completed', result: DONE })
  t.match((await next()).params, {
    taskId: ids[1],
    status: 'completed',
    result: { content: [{ uri: 'b+file:///r' }] },
    _meta: { [`${META}subscriptionId`]: 'L' },
  })
  await finish(peer, 'a', 't1', { status: 'failed', error: { code: -32603, message: 'm', data: { f: 1 } } })
  t.match((await next()).params, { taskId: ids[0], error: { code: -32603, message: 'm', data: { f: 1 } } })
})

/** Opens a listening request; the returned function resolves with its next message. */
const listenTo = (client: RawClient, taskIds: readonly string[]): (() => Promise<Loose>) => {
  const _meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: TASKS }
  client.headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
  const params = { notifications: { taskIds }, _meta }
  const heard = client.stream({ id: 'L', method: 'subscriptions/listen', params })
  return async () => (await heard.next()).value?.message
}
