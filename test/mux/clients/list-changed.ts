import t from 'tap'
import type { Client } from '../../../src/model/links.js'
import type { ListName } from '../../../src/model/listing.js'
import { ClientRegistry } from '../../../src/mux/clients/client-registry.js'
import { ListChanged } from '../../../src/mux/clients/list-changed.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import { tool } from '../../support/values.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const TOOLS_CHANGED = 'notifications/tools/list_changed'
const ALL = {
  tools: true,
  prompts: true,
  resources: { subscribe: true },
  completions: false,
  logging: false,
}
const RESOURCES_CHANGED = 'notifications/resources/list_changed'

t.test('the first list of a server is a change for earlier clients, but not for later ones', async t => {
  const world = new World({ a: { tools: [tool('x')] }, late: { tools: [tool('y')] } })
  world.server('late').dialling = 'hang'
  const early = world.newcomer()
  void world.router.welcome(early)
  await world.pass(6000)
  await world.pass(500, 10)
  early.told.length = 0
  world.server('late').admit()
  await settled()
  const bystander = await world.client()
  await world.pass(1000, 10)
  t.same(early.told, [[TOOLS_CHANGED, undefined]])
  t.same(bystander.told, [])
  t.same(await bystander.list('tools/list'), ['a__x', 'late__y'])
})

t.test('a later change is sent to clients that have read nothing as well', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = await world.client()
  await world.pass(500, 10)
  t.equal(world.server('a').got('tools/list').length, 1, 'its first list is known')
  t.same(client.told, [])
  world.server('a').lists.tools = [tool('x'), tool('y')]
  world.server('a').link.notice(TOOLS_CHANGED)
  await world.pass(500, 10)
  t.same(client.told, [[TOOLS_CHANGED, undefined]], 'it said so')
  client.told.length = 0
  world.server('a').lists.tools = [tool('z')]
  world.server('a').link.drop()
  await world.pass(60_000, 100)
  t.same(client.told, [[TOOLS_CHANGED, undefined]], 'it came back with something else')
})

t.test('of changes that come together one that is told to everybody is enough', t => {
  type Change = readonly [list: ListName, isFirst: boolean]
  const rows: readonly (readonly [readonly Change[], string | undefined])[] = [
    [[['tools', true]], undefined],
    [
      [
        ['tools', true],
        ['tools', true],
      ],
      undefined,
    ],
    [
      [
        ['tools', true],
        ['tools', false],
      ],
      TOOLS_CHANGED,
    ],
    [
      [
        ['tools', false],
        ['tools', true],
      ],
      TOOLS_CHANGED,
    ],
    [
      [
        ['resources', true],
        ['templates', true],
      ],
      undefined,
    ],
    [
      [
        ['resources', true],
        ['templates', false],
        ['resources', true],
      ],
      RESOURCES_CHANGED,
    ],
  ]
  for (const [changes, notice] of rows) {
    const clock = new FakeClock()
    const told = {
      stranger: [] as string[],
      early: [] as string[],
      reader: [] as string[],
      current: [] as string[],
    }
    let version = 'before'
    const registry = new ClientRegistry({
      offer: () => ({ capabilities: ALL, isComplete: true }),
      own: () => undefined,
      version: () => version,
      viewFor: () => undefined,
    })
    const add = (who: keyof typeof told, seen: string | undefined): void => {
      const tell = (method: string) => void told[who].push(method)
      const client = { serverRequests: 'pushed', notify: tell } as unknown as Client
      registry.add(client)
      const isComplete = who !== 'early'
      registry.welcomed(client, { capabilities: ALL, isComplete })
      for (const [list] of seen === undefined ? [] : changes) registry.listed(client, list, seen ?? '')
    }
    add('stranger', undefined)
    add('early', undefined)
    add('reader', 'before')
    add('current', 'after')
    version = 'after'
    const listChanged = new ListChanged(clock, () => registry.sessions)
    for (const [list, isFirst] of changes) {
      listChanged.changed(list, isFirst)
      clock.advance(1)
    }
    clock.advance(1000)
    const title = JSON.stringify(changes)
    t.same(
      told.early,
      [changes[0]?.[0] === 'tools' ? TOOLS_CHANGED : RESOURCES_CHANGED],
      `who came before the server: ${title}`,
    )
    t.same(told.stranger, notice === undefined ? [] : [notice], `who has read nothing: ${title}`)
    t.equal(told.reader.length, 1, `who has read an older list: ${title}`)
    t.same(told.current, [], `who has read this list: ${title}`)
    t.equal(clock.pending, 0)
  }
  t.end()
})

t.test('changes that follow each other reach a client once a second, the last of them included', t => {
  const clock = new FakeClock()
  const toldMs: number[] = []
  const audience = {
    isNews: () => true,
    knows: () => undefined,
    notify: () => void toldMs.push(clock.nowMs()),
  }
  const listChanged = new ListChanged(clock, () => [audience])
  const startMs = clock.nowMs()
  for (let time = 0; time < 32; time += 1) {
    listChanged.changed('tools', false)
    clock.advance(70)
  }
  clock.advance(5000)
  t.same(
    toldMs.map(atMs => atMs - startMs),
    [50, 1050, 2050, 3050],
  )
  t.equal(clock.pending, 0)
  t.end()
})

t.test('one restless server rings each client once a second, and is named in the log', async t => {
  const { log, lines } = recordedLog()
  const world = new World({ a: { tools: [tool('x')] }, b: { tools: [] } }, { log })
  const [client, bystander] = [await world.client(), await world.client()]
  await client.list('tools/list')
  await world.pass(2000, 50)
  const { link, lists } = world.server('a')
  const before = world.server('a').got('tools/list').length
  for (let time = 0; time < 100; time += 1) {
    lists.tools = [tool(`x${time}`)]
    link.notice(TOOLS_CHANGED)
    await world.pass(100, 50)
  }
  const rung = (one: FakeClient) => one.heard(TOOLS_CHANGED).length
  t.ok(rung(client) >= 9 && rung(client) <= 11, `told ${rung(client)} times in 10 s`)
  t.equal(rung(bystander), rung(client))
  t.ok(world.server('a').got('tools/list').length - before <= 11, 'and read as often')
  const warned = lines.filter(
    ([level, , words]) => level === 'warn' && words.includes('keeps changing a list'),
  )
  t.match(warned[0]?.[1], { server: 'a', list: 'tools' })
  await world.pass(1500, 50)
  t.same(await client.list('tools/list'), ['a__x99'], 'the last change is not lost')
})
