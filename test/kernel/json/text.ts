import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  at,
  elementsOf,
  type JsonText,
  JsonTextError,
  kindOf,
  memberOf,
  membersOf,
  numberMember,
  oneLine,
  ownText,
  rawText,
  readJson,
  repeatedKey,
  stringOf,
  textOf,
  valueOf,
} from '../../../src/kernel/json/text.js'
import { arrays, keys, objects, strings, values, written } from '../../support/arbitraries.js'
import { runs } from '../../support/property.js'

const read = (text: string): JsonText => readJson(Buffer.from(text))

/** Decodes a text, put together from slices only. */
const meaning = (text: JsonText): unknown => {
  switch (kindOf(text)) {
    case 'array':
      return [...elementsOf(text)].map(meaning)
    case 'object': {
      const object = {}
      for (const { key, value } of membersOf(text)) {
        // Not by assignment: that would set the prototype for the key `__proto__`.
        const found = { value: meaning(value), enumerable: true, writable: true, configurable: true }
        Object.defineProperty(object, key, found)
      }
      return object
    }
    case 'string':
      return stringOf(text)
    default:
      return valueOf(text)
  }
}

t.test('what slices mean, put together, is what JSON.parse makes of the whole', async t => {
  const property = fc.property(values, text => isDeepStrictEqual(meaning(read(text)), JSON.parse(text)))
  t.doesNotThrow(() => fc.assert(property, runs(500)))
})

t.test('a number member is what JSON.parse makes of it, and nothing else is a number', async t => {
  const numbers = [
    '0',
    '-0',
    '7',
    '100',
    '999999999999999',
    '9007199254740993',
    '-1',
    '1.50',
    '1e3',
    '1E-2',
    '1e400',
  ]
  for (const number of numbers) {
    const found = numberMember(read(`{"x":null,"progress" : ${number} }`), 'progress')
    t.ok(Object.is(found, JSON.parse(number)), number)
  }
  for (const other of ['"1"', 'null', 'true', '[1]', '{}'])
    t.equal(numberMember(read(`{"progress":${other}}`), 'progress'), undefined, other)
  t.equal(numberMember(read('{}'), 'progress'), undefined)
  t.equal(numberMember(read('[1]'), 'progress'), undefined)
})

t.test('members and elements are the very bytes between the space, in their order', async t => {
  const ofObjects = fc.property(objects, object => {
    const expected = object.items.map(({ key, value }) => [JSON.parse(key), value])
    const found = [...membersOf(read(written(object, ['{', '}'])))]
    return isDeepStrictEqual(
      found.map(({ key, value }) => [key, value.toString()]),
      expected,
    )
  })
  const ofArrays = fc.property(arrays, array => {
    const found = [...elementsOf(read(written(array, ['[', ']'])))]
    return isDeepStrictEqual(
      found.map(String),
      array.items.map(({ value }) => value),
    )
  })
  t.doesNotThrow(() => fc.assert(ofObjects, runs(300)))
  t.doesNotThrow(() => fc.assert(ofArrays, runs(300)))
})

t.test('slices share the memory of their message', async t => {
  const message = Buffer.from(' {"a" : [ 1, "x" ]} ')
  const slice = [...elementsOf(memberOf(readJson(message), 'a') ?? read('[]'))][1]
  t.equal(slice?.buffer, message.buffer)
  t.equal((slice?.byteOffset ?? 0) - message.byteOffset, message.indexOf('"x"'))
})

t.test('a text of its own is the same, and keeps nothing else in memory', async t => {
  const message = Buffer.from(' {"a" : [ 1, "x" ]} ')
  const slice = memberOf(readJson(message), 'a') ?? read('[]')
  const own = ownText(slice)
  t.equal(own.toString(), '[ 1, "x" ]')
  t.equal(own.buffer.byteLength, own.length)
})

t.test('a member is found by its decoded key, the first one of them', async t => {
  const property = fc.property(objects, keys, (object, wanted) => {
    const key: string = JSON.parse(wanted)
    const expected = object.items.find(item => JSON.parse(item.key) === key)?.value
    return memberOf(read(written(object, ['{', '}'])), key)?.toString() === expected
  })
  t.doesNotThrow(() => fc.assert(property, runs(500)))
  const find = (text: string, key: string) => memberOf(read(text), key)?.toString()
  t.equal(find('{"\\u0069d":1,"id":2}', 'id'), '1')
  t.equal(find('{"i":1,"idx":2,"\\u0069d\\u0078":3,"id":4}', 'id'), '4', 'a prefix is another key')
  t.equal(find('{"\\\\u0069d":1}', 'id'), undefined, 'an escaped backslash begins no escape')
  t.equal(find('{"\\\\u0069d":1}', '\\u0069d'), '1')
  t.equal(find('{"\\ud800":1}', '\ud800'), '1', 'a lone surrogate')
  t.equal(find('{"道":1}', '道'), '1')
  t.equal(find('{"道":1}', 'é\u0081\u0093'), undefined, 'bytes are no characters')
  t.equal(find('{"a":{"id":1},"b":["id"],"c":"\\"id\\":2"}', 'id'), undefined, 'what is deeper is no member')
})

t.test('__proto__ and the like are keys as any other', async t => {
  const text = read('{"__proto__":{"a":1},"constructor":2,"toString":3}')
  t.same(
    [...membersOf(text)].map(({ key, value }) => `${key} ${value}`),
    ['__proto__ {"a":1}', 'constructor 2', 'toString 3'],
  )
  t.equal(at(text, '__proto__', 'a')?.toString(), '1')
  t.equal(memberOf(read('{}'), '__proto__'), undefined)
  t.equal(repeatedKey(read('{"__proto__":1,"__pr\\u006fto__":2}'), new Set(['__proto__'])), '__proto__')
})

t.test('a path leads through objects only', async t => {
  const text = read('{"a":{"b":{"c":null}},"d":[{"0":1}],"e":"{\\"f\\":1}"}')
  t.equal(at(text), text)
  t.equal(at(text, 'a', 'b', 'c')?.toString(), 'null')
  t.equal(at(text, 'a', 'x', 'c'), undefined)
  t.equal(at(text, 'd', '0'), undefined)
  t.equal(at(text, 'e', 'f'), undefined)
})

t.test('only containers have items, and only strings have a string', async t => {
  for (const text of ['1', '"{}"', 'null', '"[1]"', 'true', '[]', '[ ]', '[{"a":1}]']) {
    t.same([...membersOf(read(text))], [], `members of ${text}`)
    t.equal(memberOf(read(text), 'a'), undefined)
    t.equal(repeatedKey(read(text), new Set(['a'])), undefined)
  }
  for (const text of ['1', '"[1]"', 'null', '{}', '{ }', '{"a":[1]}']) {
    t.same([...elementsOf(read(text))], [], `elements of ${text}`)
  }
  for (const text of ['1', 'null', '["a"]', '{"a":"b"}']) t.equal(stringOf(read(text)), undefined, text)
  t.equal(stringOf(undefined), undefined)
})

t.test('a string is decoded as JSON.parse decodes it', async t => {
  const property = fc.property(strings, text => stringOf(read(text)) === JSON.parse(text))
  t.doesNotThrow(() => fc.assert(property, runs(500)))
  t.equal(stringOf(read('"\ufeffa"')), '\ufeffa', 'a byte order mark inside is a character')
  t.equal(stringOf(read('""')), '')
})

t.test('each kind of value is told by its first byte', async t => {
  const kinds = { '{}': 'object', '[]': 'array', '""': 'string', '-1': 'number', '0': 'number' }
  const words = { true: 'boolean', false: 'boolean', null: 'null' }
  for (const [text, kind] of Object.entries({ ...kinds, ...words })) t.equal(kindOf(read(text)), kind, text)
})

t.test('our own values become text, except what JSON cannot say', async t => {
  const property = fc.property(fc.jsonValue(), value => {
    const text = textOf(value)
    return text.toString() === JSON.stringify(value) && readJson(text) === text
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 200 }))
  t.equal(textOf('\ud800').toString(), '"\\ud800"', 'a lone surrogate is escaped')
  for (const value of [undefined, () => 1, Symbol('x'), 1n]) t.throws(() => textOf(value), TypeError)
  t.equal(rawText('{"é":1}').toString(), '{"é":1}')
})

t.test('a routed member that comes twice is noticed in any spelling', async t => {
  const routed = new Set(['id', 'method', 'é'])
  const table: readonly (readonly [text: string, repeated: string | undefined])[] = [
    ['{"id":1,"method":2,"other":3}', undefined],
    ['{"id":1,"id":1}', 'id'],
    ['{"id":1,"x":{"id":2},"\\u0069d":3}', 'id'],
    ['{"id":1,"method":1,"method":2,"id":3}', 'method'],
    ['{"\\u00e9":1,"é":2}', 'é'],
    ['{"x":1,"x":2}', undefined],
    ['{"id":[{"id":1},{"id":2}]}', undefined],
  ]
  for (const [text, repeated] of table) t.equal(repeatedKey(read(text), routed), repeated, text)
})

t.test('one line is the same JSON without line ends', async t => {
  const property = fc.property(values, text => {
    const before = read(text)
    const line = oneLine(before)
    if (!/[\r\n]/.test(text)) return line === before
    return line.toString() === text.replace(/[\r\n]/g, ' ') && before.toString() === text
  })
  t.doesNotThrow(() => fc.assert(property, runs(300)))
  t.equal(oneLine(read('{\r\n"a\\n":\n1}')).toString(), '{  "a\\n": 1}')
  t.equal(oneLine(read('[\r1]')).toString(), '[ 1]', 'CR alone')
})

t.test('one byte order mark and surrounding space are not part of the value', async t => {
  t.equal(read('\ufeff \t\r\n[1 ] \n').toString(), '[1 ]')
  t.equal(read('\ufeff1').toString(), '1')
  const message = Buffer.from('{"a":1}')
  t.equal(readJson(message), message, 'without them, the message is the value')
})

t.test('anything except one JSON value in UTF-8 of bounded depth is refused', async t => {
  for (const text of ['', '\ufeff', '\ufeff\ufeff1', '1 1', '{"a"}', '['.repeat(513) + ']'.repeat(513)]) {
    t.throws(() => read(text), JsonTextError, text.slice(0, 20))
  }
  for (const bytes of [[0x22, 0xff, 0x22], [0xef, 0xbb], [0xef], [0xef, 0xbb, 0x22, 0x22]]) {
    t.throws(() => readJson(Buffer.from(bytes)), JsonTextError, bytes.join())
  }
  t.same(read('['.repeat(512) + ']'.repeat(512)).length, 1024)
})
