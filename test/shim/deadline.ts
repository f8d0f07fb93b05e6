import t from 'tap'
import { Deadline } from '../../src/shim/deadline.js'

t.test('a pause after the deadline ends at once, without a warning of Node', async t => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error): unknown => warnings.push(name)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const deadline = new Deadline(-10)
  t.ok(deadline.hasEnded)
  await deadline.pause(1000)
  await deadline.pause(0)
  t.same(warnings, [])
})
