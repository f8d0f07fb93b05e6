import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { ByteAccount } from '../../../src/kernel/byte-account.js'
import { LineSplitter } from '../../../src/wire/framing/ndjson.js'
import { cutInto, runs } from '../../support/property.js'

/** All that is told about a stream: lines as latin1 text, skipped lines as their size. */
function split(chunks: readonly Buffer[], maxBytes = 1000): (string | number)[] {
  const told: (string | number)[] = []
  const splitter = new LineSplitter({ maxBytes })
  const onLine = (line: Buffer) => void told.push(line.toString('latin1'))
  const onSkipped = (bytes: number) => void told.push(bytes)
  for (const chunk of chunks) splitter.push(chunk, onLine, onSkipped)
  splitter.end(onLine, onSkipped)
  return told
}

const never = () => void t.fail('told too much')
const latin1 = (text: string) => Buffer.from(text, 'latin1')

/** The same, by the book and over the whole text at once. */
function splitByTheBook(bytes: Buffer, maxBytes: number): (string | number)[] {
  const text = bytes.toString('latin1').replace(/^\xef\xbb\xbf/, '')
  return text.split('\n').flatMap<string | number>(raw => {
    const line = raw.replace(/\r$/, '')
    if (line.length > maxBytes) return [raw.length]
    return /^[ \t\r]*$/.test(line) ? [] : [line]
  })
}

t.test('lines are cut at LF, without their line end and without blank ones', async t => {
  const rows: [string, (string | number)[]][] = [
    ['', []],
    ['{}\n', ['{}']],
    ['{}', ['{}']],
    ['a\nb\n', ['a', 'b']],
    ['a\r\nb\r\n', ['a', 'b']],
    ['a\r\r\n', ['a\r']],
    ['a\rb\n', ['a\rb']],
    ['\n\r\n \t \n\r\r\na\n', ['a']],
    [' a \n', [' a ']],
    ['\xef\xbb\xbfa\n\xef\xbb\xbfb\n', ['a', '\xef\xbb\xbfb']],
    ['\xef\xbb\xbf\xef\xbb\xbfa\n', ['\xef\xbb\xbfa']],
    ['\xef\xbb', ['\xef\xbb']],
    ['a\u0085b\x0bc\x0cd\n', ['a\u0085b\x0bc\x0cd']],
    ['a\0b\n', ['a\0b']],
  ]
  for (const [text, lines] of rows) t.same(split([latin1(text)]), lines, JSON.stringify(text))
})

t.test('a line over the limit is skipped and reported once, its neighbours arrive', async t => {
  t.same(split([latin1('ab\nabcde\nabcd\nabcd\r\nabcde\r\nab\n')], 4), ['ab', 5, 'abcd', 'abcd', 6, 'ab'])
  t.same(split([latin1('abc'), latin1('def'), latin1('ghi'), latin1('j\nk\n')], 4), [10, 'k'])
  t.same(split([latin1('abc'), latin1('def')], 4), [6], 'also when it never ends')
  t.same(split([latin1('abcd\r')], 4), ['abcd'])
  t.same(split([latin1('abcd\rx\n')], 4), [6])
})

t.test('it does not matter where the stream is cut', async _t => {
  const text = fc
    .array(
      fc.constantFrom(
        '\n',
        '\n',
        '\r\n',
        '\r',
        ' ',
        'é',
        '漢',
        '😀',
        '{"a":1}',
        'abcdefgh',
        '\ufeff',
        '\u2028',
      ),
    )
    .map(parts => Buffer.from(parts.join('')))
  const bytes = fc.oneof(
    text,
    fc.uint8Array().map(array => Buffer.from(array)),
  )
  fc.assert(
    fc.property(bytes, fc.array(fc.nat()), fc.constantFrom(3, 8, 1000), (whole, cuts, maxBytes) => {
      assert.deepEqual(split(cutInto(whole, cuts), maxBytes), splitByTheBook(whole, maxBytes))
    }),
    runs(500),
  )
})

t.test('a character cut in every position over two writes arrives whole', async t => {
  const whole = Buffer.from('{"text":"😀漢é"}\n')
  for (let at = 0; at <= whole.length; at++) {
    t.same(split([whole.subarray(0, at), whole.subarray(at)]), [whole.toString('latin1').trim()])
  }
})

t.test('a line that lies in one chunk is not copied', async t => {
  const chunk = Buffer.from('abc\ndef\n')
  const lines: Buffer[] = []
  new LineSplitter({ maxBytes: 10 }).push(chunk, line => lines.push(line), never)
  t.same(
    lines.map(line => [line.toString(), line.buffer === chunk.buffer]),
    [
      ['abc', true],
      ['def', true],
    ],
  )
})

t.test('a long line in small chunks is copied a bounded number of times', async t => {
  const chunk = Buffer.alloc(1024, 'x')
  const chunks = 16 * 1024
  let copied = 0
  let searched = 0
  const { set, indexOf } = Buffer.prototype
  const { concat } = Buffer
  t.teardown(() => Object.assign(Buffer, { concat }))
  t.teardown(() => Object.assign(Buffer.prototype, { set, indexOf }))
  Buffer.concat = (pieces, size) => {
    const whole = concat(pieces, size)
    copied += whole.length
    return whole
  }
  Object.assign(Buffer.prototype, {
    set(this: Buffer, bytes: Buffer, at: number) {
      copied += bytes.length
      set.call(this, bytes, at)
    },
    indexOf(this: Buffer, byte: number, from = 0) {
      searched += this.length - from
      return indexOf.call(this, byte, from)
    },
  })
  const lines: number[] = []
  const splitter = new LineSplitter({ maxBytes: 64 * 1024 * 1024 })
  const onLine = (line: Buffer) => void lines.push(line.length)
  for (let i = 0; i < chunks; i++) splitter.push(chunk, onLine, never)
  splitter.push(Buffer.from('\n'), onLine, never)
  const whole = chunks * chunk.length
  t.same(lines, [whole])
  t.ok(copied > 0 && copied <= 2 * whole, `${copied} bytes copied for ${whole}`)
  t.ok(searched > 0 && searched <= whole + 2, `${searched} bytes searched for ${whole}`)
})

t.test('a line too long is not kept while it lasts', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const splitter = new LineSplitter({ maxBytes: 1024 })
  const skipped: number[] = []
  const before = process.memoryUsage().arrayBuffers
  const isHeld = () => process.memoryUsage().arrayBuffers - before > 8 * 1024 * 1024
  for (let i = 0; i < 64; i++) splitter.push(Buffer.alloc(1024 * 1024, 'x'), never, never)
  // V8 frees memory in the background, so the first look may come too early.
  for (let tries = 0; tries < 100 && isHeld(); tries++) {
    collectGarbage()
    await setImmediate()
  }
  t.notOk(isHeld())
  splitter.push(Buffer.from('\n'), never, bytes => skipped.push(bytes))
  t.same(skipped, [64 * 1024 * 1024])
})

t.test('of a line that is too long both ends are told, wherever it is cut', async t => {
  const line = Buffer.from(`{"id":1,"result":"${'x'.repeat(5000)}"}`)
  for (const size of [1, 100, 300, 1000, 5000, 10_000]) {
    const told: string[] = []
    const splitter = new LineSplitter({ maxBytes: 1000 })
    const whole = Buffer.concat([line, Buffer.from('\r\n')])
    for (let from = 0; from < whole.length; from += size) {
      const onSkipped = (bytes: number, ends: Buffer) => told.push(`${bytes} ${ends.toString()}`)
      splitter.push(whole.subarray(from, from + size), never, onSkipped)
    }
    t.match(told, [/^50\d\d \{"id":1,"result":"x{200,}.*x{200,}"\}\r?$/], `${size} bytes at a time`)
  }
})

t.test('a line without room is skipped like a line that is too long, and the next is read', async t => {
  const account = new ByteAccount(
    () => 100_000,
    () => undefined,
  )
  const told: (string | number)[] = []
  const reader = () => {
    const splitter = new LineSplitter({ maxBytes: 1e9, account })
    const push = (text: string) =>
      splitter.push(
        Buffer.from(text),
        line => told.push(line.toString()),
        (bytes, ends) => told.push(bytes, ends.subarray(0, 3).toString(), ends.subarray(-3).toString()),
      )
    return { splitter, push }
  }
  const [long, short] = [reader(), reader()]
  long.push(`123${'x'.repeat(80_000)}`)
  short.push('y'.repeat(50_000))
  t.ok(account.bytes < 70_000, 'the longer one is let go of')
  short.push('\n')
  t.same(told.splice(0), ['y'.repeat(50_000)])
  long.push('789\nz\n')
  t.same(told, [80_006, '123', '789', 'z'])
  t.equal(account.bytes, 0)
  long.push('half a line')
  long.splitter.drop()
  t.equal(account.bytes, 0, 'nothing is left of a stream that broke off')
})
