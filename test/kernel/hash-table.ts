import fc from 'fast-check'
import t from 'tap'
import { HashTable } from '../../src/kernel/hash-table.js'
import { runs } from '../support/property.js'

const key = fc.oneof(
  fc.integer({ min: 0, max: 200 }),
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  fc.string({ maxLength: 3 }),
  // Long texts that differ only in front of what is hashed.
  fc.string({ minLength: 1, maxLength: 2 }).map(start => start + 'x'.repeat(100)),
)

type Step =
  | readonly ['set', number | string, number]
  | readonly ['take', number | string]
  | readonly ['clear']

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.tuple(fc.constant('set' as const), key, fc.nat()) },
  { weight: 8, arbitrary: fc.tuple(fc.constant('take' as const), key) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('clear' as const)) },
)

t.test('it matches a Map in contents and order, for any operations', t => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), steps => {
      const table = new HashTable<number | string, number>()
      const map = new Map<number | string, number>()
      for (const [what, at, value] of steps) {
        if (what === 'clear') {
          table.clear()
          map.clear()
        } else if (what === 'take') {
          const expected = map.get(at)
          map.delete(at)
          if (table.take(at) !== expected) return false
        } else {
          table.set(at, value)
          map.set(at, value)
        }
        if (table.size !== map.size) return false
      }
      const isSame = [...map].every(([at, value]) => table.has(at) && table.get(at) === value)
      return isSame && table.values().join() === [...map.values()].join()
    }),
    runs(300),
  )
  t.end()
})

t.test('a number and the text of it are two keys', t => {
  const table = new HashTable<number | string, string>()
  table.set(1, 'number')
  table.set('1', 'text')
  t.equal(table.take('1'), 'text')
  t.equal(table.get(1), 'number')
  t.notOk(table.has('1'))
  t.end()
})

t.test('it grows for a crowd, and all are found until the last has gone', t => {
  const table = new HashTable<number, number>()
  const crowd = 5000
  for (let n = 0; n < crowd; n += 1) table.set(n * 7, n)
  t.equal(table.size, crowd)
  let found = 0
  for (let n = 0; n < crowd; n += 1) if (table.take(n * 7) === n) found += 1
  t.equal(found, crowd)
  t.equal(table.size, 0)
  t.strictSame(table.values(), [])
  t.end()
})
