import t from 'tap'
import { isFromHere } from '../../../src/app/listeners/pages.js'

t.test('who is on the same machine is a table', async t => {
  const rows: readonly (readonly [remote: string | undefined, local: string, isHere: boolean])[] = [
    ['127.0.0.1', '127.0.0.1', true],
    ['::1', '::1', true],
    ['::ffff:127.0.0.1', '::ffff:127.0.0.1', true],
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.8', '192.0.2.7', false],
    ['::1234', '::1', false],
    ['1270::1', '::1', false],
    [undefined, '127.0.0.1', false],
  ]
  for (const [remoteAddress, localAddress, isHere] of rows) {
    t.equal(isFromHere({ remoteAddress, localAddress }), isHere, remoteAddress ?? 'nobody')
  }
})
