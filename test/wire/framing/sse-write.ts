import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import t from 'tap'
import { messageEvent, SSE_COMMENT, sseEvent } from '../../../src/wire/framing/sse-write.js'
import { textOfChunk } from '../../support/wire/fake-http.js'

t.test('an event has its fields in order and ends with a blank line', async t => {
  const rows: [Parameters<typeof sseEvent>[0], string][] = [
    [{ data: '{}' }, 'data: {}\n\n'],
    [{ data: Buffer.from('{"é":1}') }, 'data: {"é":1}\n\n'],
    [{ event: 'endpoint', data: '/m' }, 'event: endpoint\ndata: /m\n\n'],
    [
      { id: '1', event: 'message', data: 'x', retryMs: 500 },
      'id: 1\nevent: message\nretry: 500\ndata: x\n\n',
    ],
    [{ id: '1', data: '' }, 'id: 1\ndata: \n\n'],
    [{ id: '', data: ' x' }, 'id: \ndata:  x\n\n'],
    [{ data: 'a\nb\rc\r\nd' }, 'data: a\ndata: b\ndata: c\ndata: d\n\n'],
    [{ data: Buffer.from('é\r\n\r\n漢\n') }, 'data: é\ndata: \ndata: 漢\ndata: \n\n'],
    [{ data: 'a\u2028b\u0085c' }, 'data: a\u2028b\u0085c\n\n'],
    [{ data: 'x', retryMs: 1.6 }, 'retry: 2\ndata: x\n\n'],
  ]
  for (const [event, text] of rows) t.equal(textOfChunk(sseEvent(event)), text)
})

t.test('the event of a message is what any event of that name is', async t => {
  const data = Buffer.from('{"é":1}')
  for (const id of [undefined, '3.14']) {
    const event = { event: 'message', data, ...(id !== undefined && { id }) }
    t.equal(textOfChunk(messageEvent(data, id)), textOfChunk(sseEvent(event)))
    const pieces = { head: '{', body: data.subarray(1, -1), tail: '}' }
    t.equal(textOfChunk(messageEvent(pieces, id)), textOfChunk(sseEvent(event)))
  }
})

t.test('an id or event name cannot smuggle in another field', async t => {
  const event = sseEvent({ id: '1\ndata: evil\0', event: 'a\r\rb', data: 'x' })
  t.equal(textOfChunk(event), 'id: 1data: evil\nevent: ab\ndata: x\n\n')
})

t.test('a reader gets back what was written', async t => {
  const line = fc.string({ unit: 'binary' }).map(text => text.replaceAll(/[\r\n\0]/g, ''))
  const data = fc.array(fc.oneof(line, fc.constantFrom('\r', '\n', '\r\n'))).map(parts => parts.join(''))
  fc.assert(
    fc.property(line, line, data, (id, event, text) => {
      const events: object[] = []
      const parser = createParser({ onEvent: e => void events.push(e) })
      parser.feed(textOfChunk(sseEvent({ id, event, data: text })))
      const [only] = events
      t.strictSame(only, {
        id,
        event: event === '' ? undefined : event,
        data: text.replaceAll(/\r\n?/g, '\n'),
      })
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
  for (const chunk of [sseEvent({ data: 'a' }), SSE_COMMENT, sseEvent({ data: 'b' })])
    parser.feed(textOfChunk(chunk))
  t.same(told, ['a', ':', 'b'])
})
