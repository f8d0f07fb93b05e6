import t from 'tap'
import { memoize } from '../../src/kernel/memoize.js'

t.test('each object is read once, and equal ones apart', async t => {
  const reads: object[] = []
  const textOf = memoize((object: { readonly a: string }) => {
    reads.push(object)
    return object.a
  })
  const [one, other] = [{ a: 'x' }, { a: 'x' }]
  t.same([textOf(one), textOf(other), textOf(one)], ['x', 'x', 'x'])
  t.equal(reads.length, 2)
  t.equal(reads[0], one)
  t.equal(reads[1], other)
})
