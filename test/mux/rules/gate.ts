import t from 'tap'
import { Audit } from '../../../src/mux/calls/audit.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { FakeClock } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import { gateOf, rulesOf } from '../../support/rules.js'
import type { Script } from '../../support/server/fake-server.js'
import { resource, tool } from '../../support/values.js'

const SHOP: Script = {
  tools: [tool('refund'), tool('read'), tool('wipe')],
  prompts: [{ name: 'p' }],
  resources: [resource('file:///etc/x'), resource('file:///home/x')],
  templates: [{ name: 't', uriTemplate: 'file:///etc/{x}' }],
  capabilities: { completions: true, resources: { listChanged: true, subscribe: true } },
}

/** The outcome of a call that its server has not answered yet. */
const SENT = 'ended 0 times'
const CHANGED = 'notifications/tools/list_changed'

const start = async (rules: unknown, options: ConstructorParameters<typeof World>[1] = {}) => {
  const clock = new FakeClock()
  const gate = gateOf(rules, { clock })
  const world = new World({ shop: SHOP }, { ...options, clock, rules: () => gate })
  const client = await world.client()
  return { world, gate, client, server: world.server('shop') }
}

const refused = (reason: string, rule: string) => ({ code: -32603, data: { reason, rule } })

const names = async (client: FakeClient, list = 'tools'): Promise<unknown[]> => {
  const answer = (await client.get(`${list}/list`)) as { result: Record<string, { name: string }[]> }
  return (answer.result[list] ?? []).map(({ name }) => name)
}

t.test('a denied call is refused without reaching its server', async t => {
  const { client, server } = await start([
    { id: 'interns', tool: 'wipe', then: 'deny', reason: 'Interns do not wipe.' },
    { prompt: '*', then: 'deny' },
    { resource: 'file:///etc/*', then: 'deny' },
  ])
  t.match(await client.get('tools/call', { name: 'shop__wipe' }), {
    ...refused('denied', 'interns'),
    message: 'Denied by rule "interns": Interns do not wipe.',
  })
  t.match(await client.get('prompts/get', { name: 'shop__p' }), {
    ...refused('denied', '#2'),
    message: 'Denied by rule 2',
  })
  for (const method of ['resources/read', 'resources/subscribe'])
    t.match(await client.get(method, { uri: 'shop+file:///etc/x' }), refused('denied', '#3'), method)
  const complete = (ref: object) =>
    client.get('completion/complete', { ref, argument: { name: 'a', value: 'b' } })
  t.match(await complete({ type: 'ref/prompt', name: 'shop__p' }), refused('denied', '#2'))
  t.match(await complete({ type: 'ref/resource', uri: 'shop+file:///etc/{x}' }), refused('denied', '#3'))
  for (const method of [
    'tools/call',
    'prompts/get',
    'resources/read',
    'resources/subscribe',
    'completion/complete',
  ])
    t.equal(server.got(method).length, 0, method)
  t.match(await client.get('tools/call', { name: 'shop__read' }), SENT)
  t.equal(server.got('tools/call').length, 1)
})

t.test('a listening request leaves out denied resources, and the audit has a line about each', async t => {
  const lines: string[] = []
  const audit = new Audit({
    write: (line, { isKept }) => isKept && lines.push(line),
    ...{ clock: new FakeClock(), now: () => new Date(0), withArguments: false },
  })
  const onSubscriptionDenied = audit.subscriptionDenied
  const { world } = await start([{ resource: 'file:///etc/*', then: 'deny' }], { onSubscriptionDenied })
  const modern = world.modern()
  const uris = ['shop+file:///etc/x', 'shop+file:///home/x']
  const call = modern.call('subscriptions/listen', { notifications: { resourceSubscriptions: uris } })
  await world.pass(10)
  t.same(call.told[0]?.[1], { notifications: { resourceSubscriptions: [uris[1]] } })
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0] ?? ''), {
    ...{ audit: 'call', principal: 'local', method: 'subscriptions/listen', name: uris[0] },
    ...{ outcome: 'denied', decision: 'deny', rule: '#1' },
  })
})

t.test('a call that needs approval is refused while nobody can be asked', async t => {
  const { client, server } = await start([
    { id: 'big', tool: 'refund', when: { '/amount': { above: 500 } }, then: 'ask' },
  ])
  const call = (amount: number) => client.get('tools/call', { name: 'shop__refund', arguments: { amount } })
  t.match(await call(900), refused('approval-impossible', 'big'))
  t.match(await call(500), SENT)
  t.equal(server.got('tools/call').length, 1)
})

t.test('lists omit what is always denied, and calls of it learn the rule', async t => {
  const { client } = await start([
    { who: { people: ['ann'] }, tool: 'refund', then: 'deny' },
    { tool: 'read', when: { '/x': { equals: 1 } }, then: 'deny' },
    { tool: 'wipe', then: 'deny' },
    { prompt: 'p', then: 'deny' },
    { resource: 'file:///etc/*', then: 'deny' },
  ])
  t.same(await names(client), ['shop__refund', 'shop__read'])
  t.same(await names(client, 'prompts'), [])
  t.same(await names(client, 'resources'), ['file:///home/x'])
  t.match(await client.get('resources/templates/list'), { result: { resourceTemplates: [] } })
  t.match(await client.get('tools/call', { name: 'shop__wipe' }), refused('denied', '#3'))
})

t.test('lists differ by person, and only those that a reload changes are notified of', async t => {
  const { world, gate } = await start([{ who: { people: ['ann'] }, tool: 'wipe', then: 'deny' }])
  const [ann, bob] = [
    await world.client({ principal: 'person ann' }),
    await world.client({ principal: 'person bob' }),
  ]
  t.same(await names(ann), ['shop__refund', 'shop__read'])
  t.same(await names(bob), ['shop__refund', 'shop__read', 'shop__wipe'])
  const silent = await world.client({ principal: 'person carl' })
  const reload = async (rules: unknown) => {
    for (const client of [ann, bob, silent]) client.told.length = 0
    gate.reload(rulesOf(rules))
    const servers = world.router.pool.servers.map(({ options }) => options)
    void world.router.reload({ servers, reshown: new Set(), drainMs: 0, pageSize: 100, startupWaitMs: 5000 })
    await world.pass(3000, 50)
    return [ann, bob, silent].map(client => client.heard(CHANGED).length)
  }
  t.same(await reload([{ rate: '1/1s' }, { who: { people: ['ann'] }, tool: 'w*', then: 'deny' }]), [0, 0, 0])
  t.same(await reload([{ who: { people: ['bob'] }, tool: 'wipe', then: 'deny' }]), [1, 1, 0])
  t.same(await names(ann), ['shop__refund', 'shop__read', 'shop__wipe'])
  t.same(await names(bob), ['shop__refund', 'shop__read'])
})

t.test(
  'search finds no hidden tools, and calls through it are decided by the tool that they name',
  async t => {
    const { client, server } = await start([{ tool: 'wipe', then: 'deny' }], {
      toolExposure: { expose: { mode: 'search' } },
    })
    const text = async (name: string, args: object): Promise<string> =>
      JSON.stringify(await client.get('tools/call', { name, arguments: args }))
    t.notMatch(await text('find_tools', { query: 'wipe' }), /shop__wipe/)
    t.notMatch(await text('describe_tools', { names: ['shop__wipe'] }), /inputSchema/)
    t.match(
      await client.get('tools/call', { name: 'call_write_tool', arguments: { name: 'shop__wipe' } }),
      refused('denied', '#1'),
    )
    t.equal(server.got('tools/call').length, 0)
  },
)

t.test('rates count each person, and denied calls are free', async t => {
  const { world, client, server } = await start([
    { tool: 'wipe', then: 'deny' },
    { id: 'pace', rate: { limit: '2/10s', per: ['person', 'tool'] } },
  ])
  const call = (name: string, by = client) => by.get('tools/call', { name: `shop__${name}` })
  for (let n = 0; n < 5; n += 1) await call('wipe')
  await call('read')
  await call('read')
  t.match(await call('read'), {
    code: -32603,
    message: 'Rate limit exceeded: rule "pace" allows 2/10s. Try again in 5 s',
    data: { reason: 'rate-limited', rule: 'pace', limit: '2/10s', retryAfterMs: 5000 },
  })
  t.match(await call('refund'), SENT)
  t.match(await call('read', await world.client({ principal: 'person ann' })), SENT)
  await world.pass(5000)
  t.match(await call('read'), SENT)
  t.equal(server.got('tools/call').length, 5)
})

t.test('counts survive a reload that leaves the rule unchanged', async t => {
  const { client, gate } = await start([{ id: 'pace', rate: '1/1h' }])
  const call = () => client.get('tools/call', { name: 'shop__read' })
  await call()
  gate.reload(
    rulesOf([
      { tool: 'x', then: 'deny' },
      { id: 'pace', rate: '1/1h' },
    ]),
  )
  t.match(await call(), { data: { reason: 'rate-limited' } })
  gate.reload(rulesOf([{ id: 'pace', rate: '2/1h' }]))
  t.match(await call(), SENT)
})
