import t from 'tap'
import { matcherOf } from '../../src/kernel/globs.js'

t.test('an empty or overlong pattern matches only itself, and the others still count', async t => {
  const long = 'a'.repeat(70_000)
  for (const odd of ['', long]) {
    t.equal(matcherOf([odd])(odd), true)
    t.equal(matcherOf([odd])('b'), false)
    const matches = matcherOf([odd, 'b*'])
    t.equal(matches('bc'), true)
    t.equal(matches('c'), false)
  }
  t.equal(matcherOf([])(''), false)
})
