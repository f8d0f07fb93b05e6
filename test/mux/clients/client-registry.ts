import t from 'tap'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import { CAN_NOTHING, tool } from '../../support/values.js'

const names = async (client: FakeClient): Promise<string[]> => client.list('tools/list')

t.test('a client whose requests stand for themselves is served without an introduction', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = world.modern()
  t.same(await names(client), ['a__x'])
  t.match(await client.get('prompts/get', { name: 'p' }), { code: -32601 })
  const call = client.call('tools/call', { name: 'a__x' })
  await settled()
  world.server('a').last('tools/call').answer({ content: [] })
  t.same(call.ended, { result: { content: [] } })
  client.leave()
  t.match(world.router.load, { clients: 0 })
})

t.test('a client may use the current items, whether or not it was notified of them', async t => {
  const world = new World({ a: { tools: [] }, b: { tools: [] } })
  const session = await world.client()
  const client = world.modern()
  const get = (who: FakeClient): Promise<unknown> => who.get('prompts/get', { name: 'p' })
  t.match(await get(client), { code: -32601 })
  Object.assign(world.server('b').script, { prompts: [] })
  world.server('b').link.drop()
  await world.pass(1)
  t.match(await get(client), { code: -32602, message: 'Unknown prompt: p' })
  t.match((await world.router.welcome(client)).capabilities, { prompts: true })
  t.match(await get(session), { code: -32602, message: 'Unknown prompt: p' })
  t.match(await get(world.newcomer()), { code: -32601 }, 'nor is there a session unasked')
})

t.test('what it sees does not depend on what it asked before, nor on what it can be asked', async t => {
  const list = async (isWelcome: boolean, about: object): Promise<unknown> => {
    const world = new World({ a: { tools: [tool('x')] }, slow: { tools: [tool('y')] } })
    world.server('slow').dialling = 'hang'
    const client = world.modern(about)
    if (isWelcome) void world.router.welcome(client)
    const call = client.call('tools/list')
    await world.pass(4900, 100)
    world.server('slow').admit()
    await settled()
    return call.ended
  }
  const seen = await list(true, {})
  t.match(seen, { result: { tools: [{ name: 'a__x' }, { name: 'slow__y' }] } })
  t.same(await list(false, {}), seen)
  t.same(await list(false, { capabilities: CAN_NOTHING }), seen)
})

t.test('a server that was not reached yet may have what no other has', async t => {
  const world = new World({ a: { prompts: [{ name: 'p' }], capabilities: { completions: true } } })
  const call = world.modern().call('completion/complete', { ref: { type: 'ref/prompt', name: 'a__p' } })
  await settled()
  world
    .server('a')
    .last('completion/complete')
    .answer({ completion: { values: ['x'] } })
  t.match(call.ended, { result: { completion: { values: ['x'] } } })
})

t.test('a client that leaves while it is welcomed is not kept', async t => {
  const world = new World({ a: { tools: [] } })
  world.server('a').dialling = 'hang'
  const clients = [world.newcomer(), world.modern()]
  const welcomes = clients.map(client => world.router.welcome(client))
  for (const client of clients) client.leave()
  world.server('a').admit()
  await Promise.all(welcomes)
  t.match(world.router.load, { clients: 0 })
})
