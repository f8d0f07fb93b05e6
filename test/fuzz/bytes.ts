import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import t from 'tap'
import { eraOf } from '../../src/eras/detect/inbound.js'
import { readEnvelope } from '../../src/eras/modern/envelope.js'
import {
  type JsonText,
  memberOf,
  readJson,
  stringOf,
  textOf,
  valueOf,
  withMember,
} from '../../src/kernel/json/text.js'
import { classify } from '../../src/wire/classify.js'
import { LineSplitter } from '../../src/wire/framing/ndjson.js'
import { SseReader } from '../../src/wire/framing/sse-read.js'
import { messageEvent } from '../../src/wire/framing/sse-write.js'
import {
  encodeError,
  encodeNotification,
  encodeResult,
  type Message,
  metaOf,
} from '../../src/wire/jsonrpc.js'
import { keys, messages, mutated, values } from '../support/arbitraries.js'
import { cutInto, holds, soon } from '../support/property.js'
import { textOfChunk } from '../support/wire/fake-http.js'

const anyBytes = fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes))
const cuts = fc.array(fc.nat(), { maxLength: 8 })

// ── framing ──

const lines = fc
  .array(fc.oneof(fc.constantFrom('\n', '\r\n', '\r', ' \t', '\ufeff', '\0', '{}'), messages), {
    maxLength: 12,
  })
  .map(parts => Buffer.from(parts.join('')))

/** The same in a few words: lines end at LF, without their CR; blank and overlong ones are left out. */
const linesOf = (whole: Buffer, maxBytes: number): string[] => {
  const text = whole.toString('latin1').replace(/^\xef\xbb\xbf/, '')
  return text
    .split('\n')
    .map(line => line.replace(/\r$/, ''))
    .filter(line => line.length <= maxBytes && /[^ \t\r]/.test(line))
}

void holds(
  t,
  'a stream of lines is cut at its line ends, wherever it is cut before',
  fc.property(fc.oneof(lines, anyBytes), cuts, fc.constantFrom(2, 30, 1e6), (whole, at, maxBytes) => {
    const told: string[] = []
    let skipped = 0
    const onLine = (line: Buffer) => void told.push(line.toString('latin1'))
    const onSkipped = (bytes: number) => {
      skipped += bytes
    }
    const splitter = new LineSplitter({ maxBytes })
    for (const chunk of cutInto(whole, at)) splitter.push(chunk, onLine, onSkipped)
    splitter.end(onLine, onSkipped)
    assert.deepEqual(told, linesOf(whole, maxBytes))
    assert.ok(skipped <= whole.length)
  }),
)

const events = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\n\n',
        '\r\n',
        '\r',
        ':',
        ' ',
        '\ufeff',
        '\0',
        'data',
        'data: ',
        'data:',
        'id: 1',
      ),
      fc.constantFrom('event: x\n', 'retry: 10\n', 'retry: -1\n', 'id\n', 'é', 'data: a\ndata: b\n\n'),
      messages.map(text => `data: ${text.replace(/[\r\n]/g, ' ')}\n`),
    ),
    { maxLength: 16 },
  )
  .map(parts => Buffer.from(parts.join('')))

void holds(
  t,
  'a stream of events is read as another reader reads it, wherever it is cut',
  fc.property(events, cuts, (whole, at) => {
    const told: unknown[] = []
    const reader = new SseReader({ maxBytes: 1e6 })
    const onEvent = ({ event, data }: { event: string; data: Buffer }) => told.push([event, data.toString()])
    for (const chunk of cutInto(whole, at)) reader.push(chunk, { onEvent, onSkipped: () => assert.fail() })
    const expected: unknown[] = []
    const parser = createParser({
      onEvent: ({ event, data }) =>
        expected.push([event === undefined || event === '' ? 'message' : event, data]),
    })
    // It holds a CR back that may be the first half of a line end, and takes no byte order mark off.
    parser.feed(whole.toString().replace(/^\ufeff/, ''))
    parser.feed('\n')
    const last = told.length === expected.length ? expected : expected.slice(0, told.length)
    assert.deepEqual(told, last)
    assert.ok(expected.length - told.length <= 1)
  }),
)

void holds(
  t,
  'no bytes make the reader of events throw, and it holds no more than it may',
  fc.property(anyBytes, cuts, fc.nat(40), (whole, at, maxBytes) => {
    const reader = new SseReader({ maxBytes })
    const onEvent = ({ data }: { data: Buffer }) => assert.ok(data.length <= maxBytes)
    for (const chunk of cutInto(whole, at)) reader.push(chunk, { onEvent, onSkipped: () => undefined })
  }),
)

void holds(
  t,
  'an event that is written is read again, whatever is in it',
  fc.property(fc.string({ unit: 'binary' }), fc.stringMatching(/^[\w.~-]*$/), (text, id) => {
    const data = text.replaceAll(/[\r\n]/g, '')
    const told: { data: Buffer; id: string | undefined }[] = []
    const whole = Buffer.from(textOfChunk(messageEvent(Buffer.from(data), id)))
    new SseReader({ maxBytes: 1e6 }).push(whole, {
      onEvent: one => told.push(one),
      onSkipped: () => assert.fail(),
    })
    assert.equal(told.length, 1)
    assert.deepEqual([told[0]?.data.toString(), told[0]?.id], [Buffer.from(data).toString(), id])
  }),
)

// ── JSON text ──

const parsed = (bytes: Buffer): { readonly value: unknown } | undefined => {
  try {
    return isUtf8(bytes) ? { value: JSON.parse(bytes.toString().replace(/^\ufeff/, '')) } : undefined
  } catch {
    return undefined
  }
}

const read = (bytes: Buffer): JsonText | undefined => {
  try {
    return readJson(bytes)
  } catch {
    return undefined
  }
}

void holds(
  t,
  'bytes are JSON exactly if JSON.parse says so, and then they mean the same',
  fc.property(fc.oneof(mutated(values), anyBytes, mutated(messages)), bytes => {
    const text = soon(() => read(bytes))
    const expected = parsed(bytes)
    assert.equal(text === undefined, expected === undefined)
    if (text !== undefined) assert.deepEqual(valueOf(text), expected?.value)
  }),
  2000,
)

void holds(
  t,
  'a member that is put in is found there, and nothing else changes',
  fc.property(values, keys, values, (object, key, value) => {
    const before = readJson(Buffer.from(object))
    if (object[0] !== '{') return
    const name: string = JSON.parse(key)
    const after = withMember(before, name, readJson(Buffer.from(value)))
    assert.deepEqual(memberOf(after, name)?.toString(), value)
    const without = (text: JsonText) => {
      const entries = Object.entries(valueOf(text) as object).filter(([at]) => at !== name)
      return Object.fromEntries(entries)
    }
    assert.deepEqual(without(after), without(before))
  }),
)

void holds(
  t,
  'JSON of any depth is read or refused, and neither takes long nor overflows the stack',
  fc.property(fc.nat(200_000), fc.constantFrom('[', '{"a":', '[{"a":'), (depth, open) => {
    const close = [...open].reverse().map(char => ({ '[': ']', '{': '}' })[char] ?? '')
    const whole = `${open.repeat(depth)}0${close.join('').repeat(depth)}`
    for (const text of [whole, open.repeat(depth)]) soon(() => classify(Buffer.from(text)))
  }),
  20,
)

// ── messages ──

const encoded = (message: Message): Buffer => {
  switch (message.kind) {
    case 'request':
      // Encoders of requests take ids of ours; that of the client is put in its place.
      return Buffer.from(
        withMember(encodeNotification(message.method, message.params) as JsonText, 'id', message.id),
      )
    case 'notification':
      return encodeNotification(message.method, message.params)
    case 'result':
      return encodeResult(message.id, message.result)
    case 'error':
      return encodeError(message.id, message.error)
  }
}

const HEADERS = fc.record(
  { 'mcp-protocol-version': fc.constantFrom('2026-07-28', '2025-06-18', '', '9999-99-99', '\xe9') },
  { requiredKeys: [] },
)

void holds(
  t,
  'whatever a peer sends is a message or is not, means the same when passed on, and belongs to one era',
  fc.property(
    fc.oneof(
      messages.map(text => Buffer.from(text)),
      mutated(messages),
      anyBytes,
    ),
    HEADERS,
    (bytes, headers) => {
      const classified = soon(() => classify(bytes))
      if (classified.is === 'message') {
        const again = classify(encoded(classified.message))
        assert.deepEqual(plain(again), plain(classified))
        if ('params' in classified.message) readEnvelope(metaOf(classified.message))
      }
      for (const speaks of ['both', 'legacy', 'modern'] as const) {
        const verdict = eraOf(classified, headers, speaks)
        if (classified.is === 'malformed') assert.equal(verdict, classified)
        if (speaks === 'legacy') assert.notEqual(verdict.is, 'modern')
        if (verdict.is === 'modern')
          assert.equal(readEnvelope(metaOf(verdict.message)).is !== undefined, true)
      }
    },
  ),
  2000,
)

/** What a message says, its JSON as text; line breaks between tokens do not survive being passed on. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, part) => {
      // Known only of a request that is written as usual.
      if (key === 'named') return undefined
      return part?.type === 'Buffer'
        ? Buffer.from(part.data)
            .toString()
            .replace(/[\r\n]/g, ' ')
        : part
    }),
  )

void holds(
  t,
  'text of ours is JSON again, whatever it holds',
  fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, string) => {
    assert.deepEqual(valueOf(readJson(Buffer.from(textOf(value)))), JSON.parse(JSON.stringify(value)))
    assert.equal(stringOf(readJson(Buffer.from(textOf(string)))), string)
  }),
)
