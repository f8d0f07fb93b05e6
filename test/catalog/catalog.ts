import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { failed } from '../../src/model/outcome.js'
import type { FakeClient } from '../support/client/fake-client.js'
import { settled } from '../support/fake-clock.js'
import { World } from '../support/proxy/router.js'
import type { Script } from '../support/server/fake-server.js'
import { tool } from '../support/values.js'

const CHANGED = 'notifications/tools/list_changed'
const tools = (...names: string[]) => names.map(name => tool(name))

t.test('a list is read to its end, once, in the order of the configuration and of each server', async t => {
  const world = new World(
    { b: { tools: tools('z', 'a', 'm'), pageSize: 1 }, a: { tools: tools('q'), pageSize: 5 } },
    { pageSize: 2 },
  )
  const clients = [await world.client(), await world.client()]
  const lists = await Promise.all(clients.map(client => client.list('tools/list')))
  t.same(lists, Array(2).fill(['b__z', 'b__a', 'b__m', 'a__q']))
  t.equal(world.server('b').got('tools/list').length, 3, 'three pages, for both clients')
  t.match(await clients[0]?.get('tools/list'), { result: { nextCursor: String } })
})

t.test(
  'items are listed as they came but for their name; a bad or repeated one is left out alone',
  async t => {
    const world = new World({
      a: {
        tools: [
          { name: 'x', inputSchema: { type: 'object' }, 'v.x/k': { n: 1 } },
          { name: 7 },
          tool('x', { description: 'again' }),
          tool('y'),
        ],
      },
    })
    const client = await world.client()
    t.same(await client.get('tools/list'), {
      result: {
        tools: [
          { name: 'a__x', inputSchema: { type: 'object' }, 'v.x/k': { n: 1 } },
          { name: 'a__y', inputSchema: { type: 'object' } },
        ],
      },
    })
  },
)

t.test('what a server did not announce is not asked for', async t => {
  const world = new World({ a: { tools: tools('x') }, b: { prompts: [{ name: 'p' }] } })
  const client = await world.client()
  t.same(await client.list('tools/list'), ['a__x'])
  t.same(await client.list('prompts/list'), ['b__p'])
  t.same(world.server('b').got('tools/list'), [])
})

t.test('a page that fails keeps the earlier pages, and is retried soon', async t => {
  const world = new World({ a: { tools: tools('x', 'y'), pageSize: 1 } })
  const client = await world.client()
  const server = world.server('a')
  const answerTo = server.answerTo.bind(server)
  let broken = true
  server.answerTo = request =>
    broken && request.params !== undefined ? failed(new Fault('internal', 'page 2')) : answerTo(request)
  t.same(await client.list('tools/list'), ['a__x'])
  broken = false
  t.same(await client.list('tools/list'), ['a__x'], 'not for each client')
  await world.pass(31_000, 1000)
  t.same(await client.list('tools/list'), ['a__x', 'a__y'])
})

t.test('a server that hangs, fails or is away delays the other lists no longer than the wait', async t => {
  const world = new World({
    good: { tools: tools('x') },
    hangs: { tools: tools('y') },
    fails: { tools: tools('z') },
    away: { tools: tools('u') },
  })
  world.server('away').dialling = 'refuse'
  const client = await world.client()
  world.server('hangs').silent.add('tools/list')
  world.server('fails').failing.set('tools/list', failed(new Fault('internal', 'no')))
  const call = client.call('tools/list')
  await world.pass(2900)
  t.equal(call.ends.length, 0)
  await world.pass(200)
  t.match(call.ended, { result: { tools: [{ name: 'good__x' }] } })
  world
    .server('hangs')
    .last('tools/list')
    .answer({ tools: tools('y') })
  await world.pass(200, 10)
  t.match(client.heard(CHANGED), [undefined])
  world.server('fails').failing.clear()
  t.same(await client.list('tools/list'), ['good__x', 'hangs__y', 'fails__z'])
})

t.test('only when no server could be reached a list is an error, and says whose', async t => {
  const world = new World({ a: { tools: [] }, b: { tools: [] } })
  const client = await world.client()
  for (const server of world.servers) server.failing.set('tools/list', failed(new Fault('timeout', 'slow')))
  t.match(await client.get('tools/list'), {
    code: -32603,
    message: 'Server a: tools/list failed: slow',
    data: { server: 'a' },
  })
  world.server('b').failing.clear()
  t.same(await client.list('tools/list'), [])
})

t.test('a page request without an answer times out and is cancelled at the server', async t => {
  const world = new World({ a: { tools: [] } })
  const client = await world.client()
  world.server('a').silent.add('tools/list')
  client.call('tools/list')
  await settled()
  await world.pass(31_000)
  t.same(world.server('a').got('tools/list')[0]?.cancels, ['timed out'])
})

t.test(
  'the last list of a server that is lost stays for five minutes, then clients hear that it is gone',
  async t => {
    const world = new World({ a: { tools: tools('x') }, b: { tools: tools('y') } })
    const client = await world.client()
    await client.list('tools/list')
    await world.pass(500, 10)
    world.server('a').dialling = 'refuse'
    world.server('a').link.drop()
    await world.pass(4 * 60_000, 10_000)
    t.same(await client.list('tools/list'), ['a__x', 'b__y'])
    t.same(client.heard(CHANGED), [])
    await world.pass(61_000, 1000)
    t.equal(client.heard(CHANGED).length, 1)
    t.same(await client.list('tools/list'), ['b__y'])
    world.server('a').dialling = 'open'
    await world.pass(61_000, 1000)
    t.equal(client.heard(CHANGED).length, 2)
    t.same(await client.list('tools/list'), ['a__x', 'b__y'])
  },
)

t.test(
  'a server that comes back with the same list within five minutes was never away for clients',
  async t => {
    const world = new World({ a: { tools: tools('x') } })
    const client = await world.client()
    await client.list('tools/list')
    world.server('a').link.drop()
    await world.pass(400_000, 10_000)
    t.equal(world.server('a').links.length, 2)
    t.ok(world.server('a').got('tools/list').length >= 2)
    t.same(client.heard(CHANGED), [])
    t.same(await client.list('tools/list'), ['a__x'])
  },
)

t.test('the last list of a server that only fails to list stays for five minutes too', async t => {
  const world = new World({ a: { tools: tools('x'), receivesUnsolicited: false } })
  const client = await world.client()
  await client.list('tools/list')
  world.server('a').failing.set('tools/list', failed(new Fault('internal', 'no')))
  await world.pass(3_600_000, 10_000)
  t.same(await client.list('tools/list'), ['a__x'], 'nobody knew that it fails')
  await world.pass(4 * 60_000, 10_000)
  t.same(await client.list('tools/list'), ['a__x'])
  await world.pass(61_000, 1000)
  t.same(await client.list('tools/list'), [])
  world.server('a').failing.clear()
  t.same(await client.list('tools/list'), ['a__x'])
})

t.test(
  'without a channel for changes a list is read again when a client asks after half a minute',
  async t => {
    for (const script of [
      { receivesUnsolicited: false },
      { capabilities: { tools: { listChanged: false } } },
    ]) {
      const world = new World({ a: { tools: tools('x'), ...script } })
      const client = await world.client()
      await client.list('tools/list')
      world.server('a').lists.tools = tools('x', 'y')
      await world.pass(29_000, 1000)
      t.same(await client.list('tools/list'), ['a__x'])
      await world.pass(2000)
      t.same(await client.list('tools/list'), ['a__x', 'a__y'])
    }
    const world = new World({ a: { tools: tools('x') } })
    const client = await world.client()
    await client.list('tools/list')
    await world.pass(3_600_000, 600_000)
    await client.list('tools/list')
    t.equal(world.server('a').got('tools/list').length, 1, 'with one it is not')
  },
)

const MODERN = { revision: '2026-07-28', tools: tools('x') } as const
const LONG = { ttlMs: 300_000, cacheScope: 'public' } as const

/** How long the tools may be kept, and for whom. */
const hintsFor = async (client: FakeClient, cursor?: string): Promise<unknown> => {
  const call = client.call('tools/list', cursor === undefined ? undefined : { cursor })
  await settled()
  const [end] = call.ends
  return end?.kind === 'result' ? end.hints : end
}

t.test('a list may be kept until the first of its parts is too old, and by all if all agree', async t => {
  const world = new World(
    { a: { ...MODERN, hints: LONG }, b: { ...MODERN, hints: { ...LONG, ttlMs: 50_000 } } },
    { pageSize: 1 },
  )
  const client = world.modern()
  t.same(await hintsFor(client), { ttlMs: 50_000, cacheScope: 'public' })
  await world.pass(20_000)
  t.same(await hintsFor(client), { ttlMs: 30_000, cacheScope: 'public' })
  await world.pass(40_000)
  t.same(await hintsFor(client), { ttlMs: 0, cacheScope: 'public' })
  const { result } = (await client.get('tools/list')) as { result: { nextCursor: string } }
  t.same(await hintsFor(client, result.nextCursor), { ttlMs: 0, cacheScope: 'public' })
  t.equal(world.server('b').got('tools/list').length, 1, 'it says so when something changes')
})

t.test('a list is not cacheable if a part of it may change without a notification', async t => {
  const others: readonly (readonly [string, Script])[] = [
    ['an older server', { tools: tools('y') }],
    ['a server that forbids it', { ...MODERN, hints: { ttlMs: 0, cacheScope: 'private' } }],
    ['a server that does not say', MODERN],
  ]
  for (const [what, other] of others) {
    const world = new World({ a: { ...MODERN, hints: LONG }, other })
    t.same(await hintsFor(world.modern()), { ttlMs: 0, cacheScope: 'private' }, what)
  }
  const none = new World({ a: { ...MODERN, hints: LONG }, none: { prompts: [] } })
  t.same(await hintsFor(none.modern()), LONG, 'a server without tools has no part in them')
})

t.test('a list that waits for a server or a re-read is not cacheable', async t => {
  const world = new World({ a: { ...MODERN, hints: LONG }, late: { ...MODERN, hints: LONG } })
  world.server('late').dialling = 'hang'
  const client = world.modern()
  const call = client.call('tools/list')
  await world.pass(5000)
  t.match(call.ends, [{ hints: { ttlMs: 0, cacheScope: 'private' } }])
  world.server('late').admit()
  await world.pass(500, 10)
  t.match(await hintsFor(client), { ttlMs: Number, cacheScope: 'public' })
  const { link, silent } = world.server('a')
  silent.add('tools/list')
  link.notice(CHANGED)
  const during = client.call('tools/list')
  await world.pass(3000)
  t.match(during.ends, [{ hints: { ttlMs: 0, cacheScope: 'private' } }])
})

t.test(
  'without a channel for changes a list is read again when its server says that it is too old',
  async t => {
    const rows = [
      [{ ...LONG, ttlMs: 10_000 }, 9000, 1],
      [{ ...LONG, ttlMs: 10_000 }, 10_000, 2],
      [LONG, 29_000, 1],
      [LONG, 30_000, 2],
      [{ ...LONG, ttlMs: 0 }, 0, 2],
    ] as const
    for (const [hints, ageMs, reads] of rows) {
      const world = new World({ a: { ...MODERN, hints, receivesUnsolicited: false } })
      const client = world.modern()
      await client.get('tools/list')
      await world.pass(ageMs)
      await client.get('tools/list')
      t.equal(world.server('a').got('tools/list').length, reads, `${hints.ttlMs} after ${ageMs}`)
    }
  },
)

t.test('a change that comes while the list is read is not lost', async t => {
  const world = new World({ a: { tools: tools('x') } })
  const client = await world.client()
  await client.list('tools/list')
  const server = world.server('a')
  server.silent.add('tools/list')
  server.link.notice(CHANGED)
  await world.pass(100, 10)
  const reading = server.last('tools/list')
  server.link.notice(CHANGED)
  server.silent.clear()
  server.lists.tools = tools('x', 'new')
  await world.pass(100, 10)
  reading.answer({ tools: tools('x') })
  await world.pass(200, 10)
  t.equal(client.heard(CHANGED).length, 1)
  t.same(await client.list('tools/list'), ['a__x', 'a__new'])
})

t.test('a change whose reading fails is read when the next client asks', async t => {
  const world = new World({ a: { tools: tools('x') } })
  const client = await world.client()
  await client.list('tools/list')
  const server = world.server('a')
  server.failing.set('tools/list', failed(new Fault('internal', 'not now')))
  server.lists.tools = tools('y')
  server.link.notice(CHANGED)
  await world.pass(200, 10)
  server.failing.clear()
  t.same(await client.list('tools/list'), ['a__y'])
})

t.test('a client that asks right after a change gets the new list, with one reading', async t => {
  const world = new World({ a: { tools: tools('x') } })
  const client = await world.client()
  await client.list('tools/list')
  world.server('a').lists.tools = tools('y')
  world.server('a').link.notice(CHANGED)
  t.same(await client.list('tools/list'), ['a__y'])
  await world.pass(500, 10)
  t.equal(world.server('a').got('tools/list').length, 2)
  t.same(client.heard(CHANGED), [], 'it has seen it')
})

// ── pages ──

interface Stock {
  readonly servers: Record<string, string[]>
  readonly pageSize: number
}

const stocks: fc.Arbitrary<Stock> = fc.record({
  servers: fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd'),
    fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { maxLength: 7 }),
    { minKeys: 1, noNullPrototype: true },
  ),
  pageSize: fc.integer({ min: 1, max: 9 }),
})

/** What happens between two pages. */
type Happening =
  | { readonly is: 'restart' }
  | { readonly is: 'gone'; readonly server: number; readonly item: number }
  | { readonly is: 'new'; readonly server: number; readonly at: number; readonly name: string }
  | { readonly is: 'server-gone'; readonly server: number }

const happenings: fc.Arbitrary<Happening> = fc.oneof(
  fc.constant({ is: 'restart' } as const),
  fc.record({ is: fc.constant('gone' as const), server: fc.nat(3), item: fc.nat(6) }),
  fc.record({
    is: fc.constant('new' as const),
    server: fc.nat(3),
    at: fc.nat(7),
    name: fc.stringMatching(/^[A-Z]{2}$/),
  }),
  fc.record({ is: fc.constant('server-gone' as const), server: fc.nat(3) }),
)

/** A fresh proxy over these servers, as after a restart. */
const open = async ({ servers, pageSize }: Stock): Promise<{ world: World; client: FakeClient }> => {
  const scripts = Object.entries(servers).map(([name, names]) => [name, { tools: tools(...names) }] as const)
  const world = new World(Object.fromEntries(scripts), { pageSize })
  return { world, client: await world.client() }
}

t.test('all pages together contain every item once, for any page size', async t => {
  const property = fc.asyncProperty(stocks, async stock => {
    const { world, client } = await open(stock)
    const expected = Object.entries(stock.servers).flatMap(([name, own]) => own.map(one => `${name}__${one}`))
    const listed = await client.list('tools/list')
    await world.router.close()
    return JSON.stringify(listed) === JSON.stringify(expected)
  })
  await t.resolves(fc.assert(property, { numRuns: 60 }))
})

const apply = (servers: Record<string, string[]>, happening: Happening): void => {
  const names = Object.keys(servers)
  if (happening.is === 'restart') return
  const name = names[happening.server % names.length] ?? ''
  const items = servers[name] ?? []
  if (happening.is === 'server-gone') {
    if (names.length > 1) delete servers[name]
  } else if (happening.is === 'gone') items.splice(happening.item % (items.length + 1), 1)
  else if (!items.includes(happening.name)) items.splice(happening.at % (items.length + 1), 0, happening.name)
}

t.test(
  'what stays is neither lost nor doubled when the proxy restarts or something comes and goes between pages',
  async t => {
    const property = fc.asyncProperty(
      stocks,
      fc.array(happenings, { maxLength: 8 }),
      async (stock, events) => {
        const servers = structuredClone(stock.servers)
        const all = () => Object.entries(servers).flatMap(([name, own]) => own.map(one => `${name}__${one}`))
        let staying = all()
        const listed: string[] = []
        let cursor: string | undefined
        do {
          const { world, client } = await open({ servers, pageSize: stock.pageSize })
          const { result } = (await client.get(
            'tools/list',
            cursor === undefined ? undefined : { cursor },
          )) as {
            result: { tools: { name: string }[]; nextCursor?: string }
          }
          await world.router.close()
          listed.push(...result.tools.map(({ name }) => name))
          cursor = result.nextCursor
          const event = events.shift()
          if (event !== undefined) apply(servers, event)
          const now = new Set(all())
          staying = staying.filter(name => now.has(name))
        } while (cursor !== undefined)
        const counts = staying.map(name => listed.filter(one => one === name).length)
        return counts.every(count => count === 1) && new Set(listed).size === listed.length
      },
    )
    await t.resolves(fc.assert(property, { numRuns: 150 }))
  },
)

t.test('a cursor of another list, or a made-up one, is -32602', async t => {
  const world = new World(
    { a: { tools: tools('x', 'y'), prompts: [{ name: 'p' }, { name: 'q' }] } },
    { pageSize: 1 },
  )
  const client = await world.client()
  const { result } = (await client.get('prompts/list')) as { result: { nextCursor: string } }
  const invalid = { code: -32602, message: 'Invalid cursor' }
  const cursors = [result.nextCursor, '', '=', 'AAAA', `${result.nextCursor}A`, 'x'.repeat(10_000)]
  for (let round = 0; round < 2; round += 1) {
    for (const cursor of cursors)
      t.match(await client.get('tools/list', { cursor }), invalid, cursor.slice(0, 20))
    await client.list('tools/list')
  }
})
