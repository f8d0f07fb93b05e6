import fc from 'fast-check'
import t from 'tap'
import { type JsonText, objectText, readJson } from '../../src/kernel/json/text.js'
import {
  type CacheHints,
  type Contribution,
  hintMembers,
  mergeHints,
  readCacheHints,
  UNCACHED,
} from '../../src/model/cache-hints.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const part = (ttlMs: number, cacheScope: CacheHints['cacheScope'], ageMs = 0): Contribution => ({
  ttlMs,
  cacheScope,
  ageMs,
})

t.test('hints are whole non-negative milliseconds, for any computation', async t => {
  for (const [ttlMs, written] of [
    [300_000, 300_000],
    [1.9, 1],
    [-5, 0],
    [Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER],
  ] as const) {
    t.equal(
      objectText(hintMembers({ ttlMs, cacheScope: 'private' })).toString(),
      `{"ttlMs":${written},"cacheScope":"private"}`,
    )
  }
  t.equal(
    objectText(hintMembers({ ttlMs: 0, cacheScope: 'public' })).toString(),
    '{"ttlMs":0,"cacheScope":"public"}',
  )
})

t.test('a server’s hints are read, and invalid ones disable caching', async t => {
  const CASES: [string, CacheHints][] = [
    ['{"ttlMs":300000,"cacheScope":"public"}', { ttlMs: 300_000, cacheScope: 'public' }],
    ['{"ttlMs":1e3,"cacheScope":"private"}', { ttlMs: 1000, cacheScope: 'private' }],
    ['{"ttlMs":-1,"cacheScope":"public"}', { ttlMs: 0, cacheScope: 'public' }],
    ['{"ttlMs":"60000","cacheScope":"PUBLIC"}', UNCACHED],
    ['{"ttlMs":null}', UNCACHED],
    ['{}', UNCACHED],
  ]
  for (const [text, hints] of CASES) t.same(readCacheHints(json(text)), hints, text)
})

t.test(
  'a list of several servers lives as long as its shortest part, and is public if all of it is',
  async t => {
    const CASES: [string, Contribution[], boolean, CacheHints][] = [
      [
        'LC-6',
        [part(300_000, 'public', 100_000), part(0, 'private')],
        false,
        { ttlMs: 0, cacheScope: 'private' },
      ],
      ['age', [part(300_000, 'public', 100_000)], false, { ttlMs: 200_000, cacheScope: 'public' }],
      [
        'shortest',
        [part(500, 'public', 100), part(900, 'public', 700)],
        false,
        { ttlMs: 200, cacheScope: 'public' },
      ],
      ['over', [part(500, 'public', 501)], false, { ttlMs: 0, cacheScope: 'public' }],
      [
        'LC-8 one private',
        [part(9, 'public'), part(9, 'private')],
        false,
        { ttlMs: 9, cacheScope: 'private' },
      ],
      ['LC-8 filtered', [part(9, 'public')], true, { ttlMs: 9, cacheScope: 'private' }],
      ['nobody', [], false, UNCACHED],
    ]
    for (const [what, parts, isFiltered, hints] of CASES) t.same(mergeHints(parts, isFiltered), hints, what)
  },
)

t.test('a list never outlives a part of it, and is never more public', async () => {
  const contribution = fc.record({
    ttlMs: fc.double({ noNaN: true }),
    cacheScope: fc.constantFrom('public' as const, 'private' as const),
    ageMs: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(contribution, { minLength: 1 }), fc.boolean(), (parts, isFiltered) => {
      const { ttlMs, cacheScope } = mergeHints(parts, isFiltered)
      const isPublic = cacheScope === 'public'
      return (
        Number.isSafeInteger(ttlMs) &&
        ttlMs >= 0 &&
        parts.every(one => ttlMs <= Math.max(0, one.ttlMs - one.ageMs)) &&
        (!isPublic || (!isFiltered && parts.every(one => one.cacheScope === 'public')))
      )
    }),
  )
})
