import t from 'tap'
import { isWellFormed, readBearer } from '../../../src/auth/resource-server/bearer.js'

t.test('what counts as a credential is a table', async t => {
  const token = 'a.B-1_~+/=='
  for (const [header, isRepeated, credential] of [
    [undefined, false, 'none'],
    ['', false, 'none'],
    ['Basic YTpi', false, 'none'],
    ['Bearerish abc', false, 'none'],
    ['Digest username="bearer x", realm="y"', false, 'none'],
    [`Bearer ${token}`, false, { token }],
    [`bEaReR   ${token} `, false, { token }],
    ['Bearer', false, { token: '' }],
    ['Bearer a b', false, { token: 'a b' }],
    ['Bearer abc, Bearer abc', false, 'several'],
    ['Basic YTpi, Bearer abc', false, 'several'],
    ['Bearer abc,Basic YTpi', false, 'several'],
    ['Bearer abc', true, 'several'],
  ] as const) {
    t.same(readBearer(header, isRepeated), credential, `${header?.slice(0, 30)}`)
  }
})

t.test('which texts can be tokens is a table', async t => {
  for (const good of ['a', 'a.B-1_~+/==', 'a'.repeat(8192)]) t.ok(isWellFormed(good))
  for (const bad of ['', 'a b', '"a"', 'ü', '=', 'a=b', 'a'.repeat(8193)]) t.notOk(isWellFormed(bad), bad)
})
