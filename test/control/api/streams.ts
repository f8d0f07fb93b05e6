import t from 'tap'
import { Streams } from '../../../src/control/api/streams.js'

const admitted = (streams: Streams, principal: string) =>
  streams.admit(() => () => undefined, principal)(
    () => undefined,
    () => undefined,
  )

t.test('each principal has eight streams, independently of others', async t => {
  const streams = new Streams()
  const open = Array.from({ length: 8 }, () => admitted(streams, 'person alice'))
  t.throws(() => admitted(streams, 'person alice'), { code: 'overloaded' })
  const leave = admitted(streams, 'local')
  leave()
  open[0]?.()
  open[0]?.()
  admitted(streams, 'person alice')
  t.throws(() => admitted(streams, 'person alice'), { code: 'overloaded' }, 'a place is free once')
})
