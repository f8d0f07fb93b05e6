import fc from 'fast-check'
import t from 'tap'
import { pointerStep, pointerSteps } from '../../../src/kernel/json/pointer.js'

t.test('a pointer of any keys leads to the same keys', t => {
  const pointerOf = (keys: readonly string[]): string => keys.map(pointerStep).join('')
  fc.assert(
    fc.property(fc.array(fc.string()), keys => {
      t.strictSame(pointerSteps(pointerOf(keys)), keys)
    }),
  )
  t.equal(pointerOf(['a/b', '~1', '']), '/a~1b/~01/')
  t.end()
})
