import assert from 'node:assert/strict'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import t from 'tap'
import { ByteAccount } from '../../../src/kernel/byte-account.js'
import { SseReader } from '../../../src/wire/framing/sse-read.js'
import { cutInto, runs } from '../../support/property.js'

type Told = { event: string; data: string; id: string | undefined } | number

/** All that is told about a stream, data as latin1 text, and what is to be known at its end. */
function read(chunks: readonly Buffer[], maxBytes = 100_000) {
  const told: Told[] = []
  const reader = new SseReader({ maxBytes })
  const handlers = {
    onEvent: ({ event, data, id }: { event: string; data: Buffer; id: string | undefined }) =>
      void told.push({ event, data: data.toString('latin1'), id }),
    onSkipped: (bytes: number) => void told.push(bytes),
  }
  for (const chunk of chunks) reader.push(chunk, handlers)
  return { told, lastEventId: reader.lastEventId, retryMs: reader.retryMs }
}

/** The same by another implementation, which sees the whole text at once and one byte per character. */
function readByOracle(bytes: Buffer) {
  const told: Told[] = []
  const utf8 = (latin1: string) => Buffer.from(latin1, 'latin1').toString()
  let retryMs: number | undefined
  const parser = createParser({
    onEvent: ({ event = 'message', data, id }) =>
      void told.push({ event: utf8(event), data, id: id === undefined ? id : utf8(id) }),
    onRetry: ms => {
      if (Number.isSafeInteger(ms)) retryMs = ms
    },
  })
  parser.feed(bytes.toString('latin1'))
  parser.feed(':\n') // a comment: makes it look at a CR that it held back
  return { told, retryMs }
}

const never = () => void t.fail('nothing is too long')
const message = (data: string, id?: string) => ({ event: 'message', data, id })

t.test('events are told as WHATWG HTML says', async t => {
  const rows: [string, Told[]][] = [
    ['data: x\n\n', [message('x')]],
    ['data:x\n\n', [message('x')]],
    ['data:  x \n\n', [message(' x ')]],
    ['data: a\ndata: b\ndata\n\n', [message('a\nb\n')]],
    ['data: x\r\n\r\ndata: y\r\rdata: z\n\n', [message('x'), message('y'), message('z')]],
    ['data: x\n\r\n', [message('x')]],
    ['data: x\r\ndata: y\r\n\r\n', [message('x\ny')]],
    ['data: x\r\n\ndata: y\n\r', [message('x'), message('y')]],
    [
      'event: endpoint\ndata: /x\n\ndata: y\n\n',
      [{ event: 'endpoint', data: '/x', id: undefined }, message('y')],
    ],
    ['event: a\nevent:\ndata: y\n\n', [message('y')]],
    ['event: a\n\ndata: y\n\n', [message('y')]],
    [': hello\n\n:\n\ndata: x\n: y\ndata: z\n\n', [message('x\nz')]],
    ['id: 7\ndata:\n\n', [message('', '7')]],
    ['data\n\n', [message('')]],
    ['id: 7\n\n', []],
    ['id: 7\ndata: x\n\ndata: y\n\n', [message('x', '7'), message('y')]],
    ['id: a\0b\ndata: x\n\n', [message('x')]],
    ['id\ndata: x\n\n', [message('x', '')]],
    ['Data: x\n data: y\ndata : z\nfoo: 1\ndatum: 2\n\n', []],
    ['data: x\n', []],
    ['data: x', []],
    ['\xef\xbb\xbfdata: x\n\n', [message('x')]],
    ['\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n', []],
    ['\n\n\n', []],
  ]
  for (const [text, events] of rows) {
    const bytes = Buffer.from(text, 'latin1')
    t.strictSame(read([bytes]).told, events, JSON.stringify(text))
    t.strictSame(
      read([...bytes].map(byte => Buffer.of(byte))).told,
      events,
      `${JSON.stringify(text)}, byte by byte`,
    )
    t.strictSame(read([...bytes].map(byte => Buffer.from([byte]))).told, events, 'also byte by byte')
  }
})

t.test('the id to resume from is the last one of a finished event', async t => {
  const rows: [string, string | undefined][] = [
    ['data: x\n\n', undefined],
    ['id: 7\ndata: x\n\n', '7'],
    ['id: 7\n\n', '7'],
    ['id: 7\n\ndata: x\n\n', '7'],
    ['id: 7\n\nid: 8\ndata: x\n', '7'],
    ['id: 7\n\nid: 8\0\n\n', '7'],
    ['id: 7\n\nid\n\n', undefined],
    ['id: 漢\n\n', '漢'],
    [`id: ${'7'.repeat(4096)}\n\n`, '7'.repeat(4096)],
    [`id: 7\n\nid: ${'7'.repeat(4097)}\n\n`, undefined],
  ]
  for (const [text, id] of rows) t.equal(read([Buffer.from(text)]).lastEventId, id, JSON.stringify(text))
})

t.test('a listener sees the id of its event as the one to resume from', async t => {
  const reader = new SseReader({ maxBytes: 100 })
  const seen: (string | undefined)[] = []
  reader.push(Buffer.from('id: 1\ndata: x\n\nid: 2\ndata: y\n\n'), {
    onEvent: () => void seen.push(reader.lastEventId),
    onSkipped: never,
  })
  t.same(seen, ['1', '2'])
})

t.test('the delay is digits or nothing', async t => {
  const rows: [string, number | undefined][] = [
    ['retry: 1500\n', 1500],
    ['retry:0\n', 0],
    ['retry: 5\nretry: x\nretry: 1.5\nretry: -1\nretry:\nretry: 1e3\nretry:  9\n', 5],
    ['retry: 99999999999999999999\n', undefined],
    ['retry: 7', undefined],
  ]
  for (const [text, ms] of rows) t.equal(read([Buffer.from(text)]).retryMs, ms, JSON.stringify(text))
})

t.test('an event over the limit is skipped and reported once, its neighbours arrive', async t => {
  const skipped = (text: string, maxBytes: number) => {
    const whole = read([Buffer.from(text)], maxBytes)
    t.strictSame(
      read(
        [...Buffer.from(text)].map(byte => Buffer.from([byte])),
        maxBytes,
      ),
      whole,
    )
    return whole.told
  }
  t.strictSame(skipped('data: 12\n\n', 8), [message('12')])
  t.strictSame(skipped('data: 123\n\ndata: 12\n\n', 8), [9, message('12')])
  t.strictSame(skipped('data:1\ndata:2\n\ndata:1\n\n', 8), [12, message('1')], 'its lines count together')
  t.strictSame(skipped('junk: 123456\n\nid:1\n\ndata:1\n\n', 8), [12, message('1')])
  t.strictSame(skipped(': a long comment\ndata:1\n: another\n\n', 8), [message('1')], 'comments do not count')
  t.strictSame(skipped('data: 123456789\ndata:1', 8), [], 'cut off before its end')
  t.equal(read([Buffer.from('id:1\ndata:123456\n\n')], 8).lastEventId, '1', 'it is not asked for again')
})

const stream = fc.oneof(
  fc
    .array(
      fc.constantFrom(
        ...[
          '\n',
          '\n\n',
          '\r',
          '\r\n',
          '\r\n\r\n',
          'data: ',
          'data:',
          'data',
          'event: ',
          'id: ',
          'id:7',
          'retry: ',
        ],
        ...['retry:12', ':', ' ', 'x', '{"a":1}', 'é', '漢', '😀', '\ufeff', '\0', '\u2028', 'data: y\n\n'],
      ),
    )
    .map(parts => Buffer.from(parts.join(''))),
  fc.uint8Array().map(bytes => Buffer.from(bytes)),
)

t.test('the events equal those of another implementation, for any cuts of the stream', async () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), (whole, cuts) => {
      const { told, retryMs } = read(cutInto(whole, cuts))
      assert.deepEqual({ told, retryMs }, readByOracle(whole))
    }),
    runs(1000),
  )
})

t.test('wherever the stream is cut, the same events are too long', async () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), fc.nat(40), (whole, cuts, maxBytes) => {
      assert.deepEqual(read(cutInto(whole, cuts), maxBytes), read([whole], maxBytes))
    }),
    runs(1000),
  )
})

t.test('data that lies in one chunk is not copied', async t => {
  const chunk = Buffer.from('id: 1\ndata: abc\n\n')
  const data: Buffer[] = []
  new SseReader({ maxBytes: 100 }).push(chunk, { onEvent: event => data.push(event.data), onSkipped: never })
  t.same(
    data.map(bytes => [bytes.toString(), bytes.buffer === chunk.buffer]),
    [['abc', true]],
  )
})

t.test('a long event in small chunks and many lines arrives whole', async t => {
  const sizes: number[] = []
  const handlers = { onEvent: ({ data }: { data: Buffer }) => sizes.push(data.length), onSkipped: never }
  const reader = new SseReader({ maxBytes: 64 * 1024 * 1024 })
  const chunk = Buffer.alloc(1024, 'x')
  reader.push(Buffer.from('data: '), handlers)
  for (let i = 0; i < 16 * 1024; i++) reader.push(chunk, handlers)
  reader.push(Buffer.from('\n\n'), handlers)
  // Without a single LF, and with the only one at the end: neither may be looked for again and again.
  reader.push(Buffer.from(`${'data:y\r'.repeat(500_000)}\r`), handlers)
  reader.push(Buffer.from(`${'data:y\r'.repeat(500_000)}\n\n`), handlers)
  t.same(sizes, [16 * 1024 * 1024, 999_999, 999_999])
})

t.test('of the name of an event no more is kept than any has that is known', async t => {
  const { told } = read([Buffer.from(`event: ${'e'.repeat(90_000)}\ndata: x\n\n`)])
  t.strictSame(told, [{ event: 'e'.repeat(64), data: 'x', id: undefined }])
})

t.test('an event without room is skipped like one that is too long', async t => {
  const account = new ByteAccount(
    () => 100_000,
    () => undefined,
  )
  const reader = new SseReader({ maxBytes: 1e9, account })
  const told: (string | number)[] = []
  const handlers = {
    onEvent: ({ data }: { data: Buffer }) => void told.push(data.toString()),
    onSkipped: (bytes: number) => void told.push(bytes),
  }
  reader.push(Buffer.from(`data: ${'x'.repeat(60_000)}\n`), handlers)
  reader.push(Buffer.from(`data: ${'x'.repeat(60_000)}`), handlers)
  t.ok(reader.overrunBytes > 120_000)
  t.equal(account.bytes, 0)
  reader.push(Buffer.from('\n\ndata: y\n\n'), handlers)
  t.same(told, [120_012, 'y'])
  reader.push(Buffer.from('data: z'), handlers)
  reader.drop()
  t.equal(account.bytes, 0, 'nothing is left of a stream that broke off')
})
