import t from 'tap'
import { Interned } from '../../../src/catalog/lists/interned.js'

t.test('a value is made once for all who need it', async t => {
  const interned = new Interned<{ readonly n: number }>()
  let made = 0
  const make = () => {
    made += 1
    return { n: made }
  }
  const first = interned.get('a', make)
  t.equal(interned.get('a', make), first)
  t.not(interned.get('b', make), first)
  t.equal(made, 2)
})
