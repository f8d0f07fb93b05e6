import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { unblock } from '../../src/app/unblock.js'

/** As Node makes stdout and stderr of pipes on Windows (`lib/net.js`). */
const windowsPipe = (result: number) => {
  const asked: boolean[] = []
  const handle = {
    setBlocking: (isBlocking: boolean) => {
      asked.push(isBlocking)
      return result
    },
  }
  const waiting = () => t.fail('waited for the reader')
  const stream = Object.assign(new Socket(), { _handle: handle, _write: waiting })
  return { stream, asked, waiting }
}

t.test('what a reader does not take is kept, and not waited for', async t => {
  const { stream, asked, waiting } = windowsPipe(0)
  t.equal(unblock(stream), true)
  t.equal(unblock(stream), true)
  t.same(asked, [false, false])
  t.not(stream._write, waiting)
  t.equal(stream._write, Socket.prototype._write)
})

t.test('what Node cannot write to in this way is left as it is', async t => {
  const { stream, waiting } = windowsPipe(-4071)
  t.equal(unblock(stream), false)
  t.equal(stream._write, waiting)
  t.equal(unblock(new Socket()), false)
  t.equal(unblock(new PassThrough()), false)
})
