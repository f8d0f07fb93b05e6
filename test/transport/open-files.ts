import t from 'tap'
import { connectionsThatFit } from '../../src/transport/open-files.js'

t.test('there are no more connections than the operating system has files for', async t => {
  t.equal(connectionsThatFit(1024), 512)
  t.equal(connectionsThatFit(100), 64, 'some must be possible')
  t.equal(connectionsThatFit(undefined) > 0, true)
  t.equal(connectionsThatFit(1_000_000), 999_488)
})
