import t from 'tap'
import { settled } from '../support/fake-clock.js'
import { World } from '../support/proxy/router.js'
import type { Script } from '../support/server/fake-server.js'
import { resource, tool } from '../support/values.js'

const skill = (name: string) => ({
  uri: `skill://${name}/SKILL.md`,
  frontmatter: { name, description: 'd' },
  resources: 'dynamic',
})
const uris = (alias: string, ...names: readonly string[]) =>
  names.map(name => `skill://${alias}/${name}/SKILL.md`)

const CHANGED = 'notifications/resources/list_changed'
const MODERN = { skills: [skill('x')], revision: '2026-07-28' } as const satisfies Script
const QUIET = { resources: { listChanged: false, subscribe: false } }

t.test('skills of a server that reports no changes are read again when they are too old', async t => {
  const rows: readonly (readonly [what: string, script: Script, ms: number])[] = [
    ['by default', { skills: [skill('x')], capabilities: QUIET }, 30_000],
    [
      'a long time',
      { ...MODERN, capabilities: QUIET, hints: { ttlMs: 90_000, cacheScope: 'public' } },
      90_000,
    ],
    ['a short time', { ...MODERN, capabilities: QUIET, hints: { ttlMs: 2000, cacheScope: 'public' } }, 2000],
    ['without resources', { skills: [skill('x')] }, 30_000],
  ]
  for (const [what, script, ms] of rows) {
    const world = new World({ a: script })
    const [client, other] = [await world.client(), await world.client()]
    const server = world.server('a')
    await other.list('skills/list', 'uri')
    t.same(await client.list('skills/list', 'uri'), uris('a', 'x'))
    server.lists.skills = [skill('x'), skill('y')]
    const before = server.got('skills/list').length
    await world.pass(ms - 100)
    await client.list('skills/list', 'uri')
    t.equal(server.got('skills/list').length, before, what)
    await world.pass(100)
    t.same(await client.list('skills/list', 'uri'), uris('a', 'x', 'y'), what)
    await world.pass(5000, 100)
    t.same(
      [client, other].map(one => one.heard(CHANGED).length),
      [0, 1],
      `${what}: the change is news`,
    )
  }
})

t.test('a client hears once of new skills and new resources, and of nothing if neither changed', async t => {
  const world = new World({
    a: { resources: [resource('x:1')], skills: [skill('x')] },
    b: { tools: [tool('t')] },
  })
  const client = await world.client()
  await client.list('skills/list', 'uri')
  const { link, lists } = world.server('a')
  const noticed = async (): Promise<number> => {
    link.notice(CHANGED)
    await world.pass(3000, 50)
    return client.heard(CHANGED).length
  }
  t.equal(await noticed(), 0)
  lists.skills = [skill('x'), skill('y')]
  t.equal(await noticed(), 1)
  lists.skills = []
  lists.resources = []
  t.equal(await noticed(), 2)
  t.equal(await noticed(), 2)
  t.equal(world.server('b').got('skills/list').length, 0)
})

t.test('a notification about resources makes a server without skills list no skills', async t => {
  const world = new World({ a: { resources: [] } })
  const client = await world.client()
  world.server('a').link.notice(CHANGED)
  await world.pass(3000, 50)
  t.equal(world.server('a').got('skills/list').length, 0)
  t.match(await client.get('skills/list'), { code: -32601, message: 'Method not found: skills/list' })
})

t.test(
  'skills may be kept as long as the first of their servers says, unless clients may see others',
  async t => {
    const LONG = { ttlMs: 100_000, cacheScope: 'public' } as const
    const world = new World({ a: { ...MODERN, hints: LONG }, b: { tools: [tool('t')] } })
    const hints = async (): Promise<unknown> => {
      const call = world.modern().call('skills/list')
      await settled()
      const [end] = call.ends
      return end?.kind === 'result' ? end.hints : end
    }
    t.same(await hints(), LONG, 'a server without skills has no part in them')
    const older = new World({ a: { ...MODERN, hints: LONG }, b: { skills: [skill('y')] } })
    const call = older.modern().call('skills/list')
    await settled()
    t.match(call.ends, [{ hints: { ttlMs: 0, cacheScope: 'private' } }])
  },
)

t.test('requests go to the owner, or end with the reason if it has no such thing', async t => {
  const world = new World({
    a: { skills: [skill('x')], capabilities: { skills: { directoryRead: true } } },
    b: { skills: [skill('y')] },
    c: { resources: [resource('skill://z/a.md')] },
  })
  const client = await world.client()
  const page = client.call('resources/directory/read', { uri: 'skill://a/x', cursor: 'theirs' })
  await settled()
  t.same(world.server('a').last('resources/directory/read').params, { uri: 'skill://x', cursor: 'theirs' })
  world.server('a').last('resources/directory/read').answer({ resources: null, nextCursor: 'next' })
  t.same(page.ended, { result: { resources: [], nextCursor: 'next' } })
  t.match(await client.get('resources/directory/read', { uri: 'skill://b/y' }), {
    code: -32602,
    message: 'skill://b/y is not a directory resource',
  })
  t.match(await client.get('skills/get', { uri: 'skill://c/z/SKILL.md' }), {
    code: -32602,
    message: 'No skill is served at skill://c/z/SKILL.md',
  })
  t.equal(world.server('c').got('skills/get').length, 0)
  for (const uri of ['x'.repeat(9000), `skill://a/${'x/'.repeat(5000)}`, 7])
    t.match(await client.get('skills/get', { uri }), { code: -32602 })
  t.equal(world.server('a').got('skills/get').length, 0)
})

t.test('a client that asks first hears that no server has skills', async t => {
  const world = new World({ a: { tools: [tool('t')] }, down: { skills: [skill('x')] } })
  world.server('down').dialling = 'refuse'
  const client = world.modern()
  for (const method of ['skills/list', 'skills/get', 'resources/directory/read']) {
    const call = client.call(method, { uri: 'skill://a/x/SKILL.md' })
    await world.pass(6000, 100)
    t.match(call.ended, { code: -32601, message: `Method not found: ${method}` })
  }
  world.server('down').dialling = 'open'
  await world.pass(60_000, 100)
  t.same(await client.list('skills/list', 'uri'), uris('down', 'x'))
})
