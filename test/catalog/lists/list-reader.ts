import t from 'tap'
import { readList } from '../../../src/catalog/lists/list-reader.js'
import { Fault } from '../../../src/kernel/faults.js'
import { readJson, textOf, valueOf } from '../../../src/kernel/json/text.js'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS } from '../../../src/kernel/limits.js'
import { type Outcome, succeeded } from '../../../src/model/outcome.js'
import type { Revision } from '../../../src/model/revision.js'
import { FakeClock } from '../../support/fake-clock.js'
import { FakeServer } from '../../support/server/fake-server.js'

/**
 * Walks a server that answers each page as told; resolves with what was found and which cursors were sent.
 */
const walk = async (
  answers: (page: number) => object | Outcome,
  revision: Revision = '2025-11-25',
  bounds = new LimitCounters(),
) => {
  const server = new FakeServer('a', { tools: [], revision })
  const cursors: unknown[] = []
  server.answerTo = ({ params }) => {
    cursors.push((params as { cursor?: unknown } | undefined)?.cursor)
    const answer = answers(cursors.length)
    return 'kind' in answer ? answer : succeeded(textOf(answer))
  }
  const link = await server.dial(
    { serverRequests: 'pushed', capabilities: {} as never, clientInfo: undefined },
    {} as never,
    new AbortController().signal,
  )
  const walked = await readList(link, 'tools', { clock: new FakeClock(), timeoutMs: 1000 }, bounds)
  return { ...walked, items: walked.items.map(item => valueOf(item)), cursors }
}

const refusal = (code: number): Outcome => ({ kind: 'error', error: textOf({ code, message: 'sorry' }) })

t.test('a list is followed to its end: cursors are opaque, an empty one counts, null is the end', async t => {
  const pages: object[] = [
    { tools: [1], nextCursor: '' },
    { tools: [2, 3], nextCursor: ' x' },
    { tools: [], nextCursor: '0' },
    { tools: [4], nextCursor: null },
  ]
  const walked = await walk(page => pages[page - 1] ?? {})
  t.same(walked, { items: [1, 2, 3, 4], isWhole: true, cursors: [undefined, '', ' x', '0'] })
})

t.test('a server that sends the same cursor again is read no further', async t => {
  const walked = await walk(page => ({ tools: [page], nextCursor: page % 2 === 1 ? 'a' : 'b' }))
  t.same(walked, {
    items: [1, 2, 3],
    isWhole: false,
    reason: 'a cursor was repeated',
    cursors: [undefined, 'a', 'b'],
  })
})

t.test('a server that pages for ever is cut off', async t => {
  const walked = await walk(page => ({ tools: [page], nextCursor: String(page) }))
  t.equal(walked.items.length, 500)
  t.match(walked, { isWhole: false, reason: 'more than 500 pages (limits.pages)', cutAt: 'pages' })
})

t.test('a page may hold more items than a function takes arguments', async t => {
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, items: 200_000 } })
  const { items, isWhole } = await walk(() => ({ tools: new Array(200_000).fill(0) }), '2025-11-25', bounds)
  t.equal(items.length, 200_000)
  t.ok(isWhole)
})

t.test('of a list with more items than are shown the rest is left out, and no more is asked for', async t => {
  const walked = await walk(page => ({ tools: new Array(9_999).fill(0), nextCursor: String(page) }))
  t.equal(walked.items.length, 10_000)
  t.equal(walked.cursors.length, 2)
  t.match(walked, { isWhole: false, reason: 'more than 10000 items (limits.items)', cutAt: 'items' })
})

t.test('of a list that is longer than may be kept the rest is left out', async t => {
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, listBytes: 1000 } })
  const walked = await walk(
    page => ({ tools: ['x'.repeat(398)], nextCursor: String(page) }),
    '2025-11-25',
    bounds,
  )
  t.equal(walked.items.length, 2)
  t.match(walked, { isWhole: false, reason: 'more than 1000 bytes (limits.listBytes)', cutAt: 'listBytes' })
})

t.test('a later page that fails keeps the earlier ones; a first one fails the walk', async t => {
  t.match(await walk(page => (page === 1 ? { tools: [1], nextCursor: 'c' } : refusal(-32603))), {
    items: [1],
    isWhole: false,
    reason: 'page 2 failed: sorry',
  })
  t.match(await walk(() => refusal(-32603)), {
    items: [],
    isWhole: false,
    error: { code: 'unavailable', message: 'tools/list failed: sorry' },
  })
  t.match(await walk(() => ({ kind: 'error', error: textOf({ code: 1 }) })), {
    error: { message: /no reason given/ },
  })
})

t.test('a server without the method has an empty list; a result without the member has one too', async t => {
  t.match(await walk(() => refusal(-32601)), { items: [], isWhole: true })
  t.match(await walk(() => ({ tools: 'none' })), { items: [], isWhole: true })
  t.match(await walk(() => ({})), { items: [], isWhole: true })
})

t.test('the lifetime of a list is the shortest of its pages, public if every page is', async t => {
  const page = (ttlMs: unknown, cacheScope: unknown, nextCursor?: string) => ({
    tools: [],
    ttlMs,
    cacheScope,
    nextCursor,
  })
  const pages = (...all: object[]) => walk(number => all[number - 1] ?? {}, '2026-07-28')
  const rows = [
    [[page(5, 'public')], { ttlMs: 5, cacheScope: 'public' }],
    [[page(5, 'public', 'a'), page(3, 'public')], { ttlMs: 3, cacheScope: 'public' }],
    [[page(5, 'public', 'a'), page(9, 'private')], { ttlMs: 5, cacheScope: 'private' }],
    [[page(5, 'public', 'a'), {}], { ttlMs: 0, cacheScope: 'private' }],
    [[page(-1, 'all')], { ttlMs: 0, cacheScope: 'private' }],
  ] as const
  for (const [all, hints] of rows) t.same((await pages(...all)).hints, hints, JSON.stringify(all))
  t.equal((await walk(() => page(5, 'public'))).hints, undefined, 'an older server means something else')
})

t.test('data between the items is counted but not retained', async t => {
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, listBytes: 1000 } })
  const limit = { clock: new FakeClock(), timeoutMs: 1000 }
  const walkOf = (page: (number: number) => string) => {
    let pages = 0
    const link = {
      serverRequests: 'pushed',
      call: (_request: unknown, sink: { ended(outcome: Outcome): void }) => {
        pages += 1
        queueMicrotask(() => sink.ended(succeeded(readJson(Buffer.from(page(pages))))))
        return { cancel: () => undefined }
      },
    }
    return readList(link as never, 'tools', limit, bounds)
  }
  const padded = await walkOf(
    n => `{"tools":[1],"_meta":{"x":"${'x'.repeat(5000)}"}${n < 9 ? `,"nextCursor":"${n}"` : ''}}`,
  )
  t.equal(padded.items.length, 9)
  t.ok(padded.items.every(item => item.buffer.byteLength < 100))
  const cut = { isWhole: false, reason: 'more than 1000 bytes (limits.listBytes)', cutAt: 'listBytes' }
  t.match(await walkOf(n => `{"tools":[1${' '.repeat(400)}],"nextCursor":"${n}"}`), {
    ...cut,
    items: { length: 3 },
  })
  t.match(await walkOf(n => `{"tools":[],"nextCursor":"${n}${'x'.repeat(400)}"}`), {
    ...cut,
    items: { length: 0 },
  })
})

t.test('a list that a login would show fails in the words of the login', async t => {
  const data = { server: 'linear', reason: 'needs-auth' }
  const fault = new Fault('unauthorized', 'Server linear needs a login: run `x`', { data })
  t.equal(await walk(() => ({ kind: 'fault', fault })).catch(thrown => thrown), fault)
})
