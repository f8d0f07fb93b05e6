import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import t from 'tap'
import {
  endpointEvent,
  messageEvent,
  primingEvent,
  SSE_COMMENT,
} from '../../../src/wire/framing/sse-write.js'
import { textOfChunk } from '../../support/wire/fake-http.js'

t.test('an event has its fields in order and ends with a blank line', async t => {
  const data = Buffer.from('{"é":1}')
  const pieces = { head: '{', body: data.subarray(1, -1), tail: '}' }
  for (const message of [data, pieces]) {
    t.equal(textOfChunk(messageEvent(message)), 'event: message\ndata: {"é":1}\n\n')
    t.equal(textOfChunk(messageEvent(message, '3.14')), 'id: 3.14\nevent: message\ndata: {"é":1}\n\n')
  }
  t.equal(textOfChunk(primingEvent('3.0', 500)), 'id: 3.0\nretry: 500\ndata: \n\n')
  t.equal(textOfChunk(endpointEvent('/m?é')), 'event: endpoint\ndata: /m?é\n\n')
})

t.test('a reader gets back the written events', async t => {
  const line = fc.string({ unit: 'binary' }).map(text => text.replaceAll(/[\r\n\0]/g, ''))
  fc.assert(
    fc.property(fc.stringMatching(/^[\w.~-]+$/), line, (id, data) => {
      const events: object[] = []
      const parser = createParser({ onEvent: e => void events.push(e) })
      parser.feed(textOfChunk(messageEvent(Buffer.from(data), id)))
      t.strictSame(events, [{ id, event: 'message', data }])
      return events.length === 1
    }),
  )
})

t.test('the keep-alive is a comment between events', async t => {
  const told: string[] = []
  const parser = createParser({
    onEvent: e => void told.push(e.data),
    onComment: c => void told.push(`:${c}`),
  })
  t.equal(SSE_COMMENT, ':\n\n')
  const [first, second] = ['a', 'b'].map(data => messageEvent(Buffer.from(data)))
  for (const chunk of [first, SSE_COMMENT, second]) parser.feed(textOfChunk(chunk ?? ''))
  t.same(told, ['a', ':', 'b'])
})
