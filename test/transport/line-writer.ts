import { Writable } from 'node:stream'
import t from 'tap'
import { LineWriter } from '../../src/transport/line-writer.js'

t.test('messages of one turn are written together, one that is alone at once, and all in order', async t => {
  const writes: string[] = []
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk.toString())
      done()
    },
    writev: (chunks, done) => {
      writes.push(chunks.map(({ chunk }) => String(chunk)).join(''))
      done()
    },
  })
  const writer = new LineWriter(stream)
  writer.send(Buffer.from('1'), true)
  t.same(writes, ['1\n'])
  writer.send(Buffer.from('2'))
  writer.send(Buffer.from('3'), true)
  t.same(writes, ['1\n'])
  await new Promise(setImmediate)
  t.same(writes, ['1\n', '2\n3\n'])
})
