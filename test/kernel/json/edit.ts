import t from 'tap'
import { editMember, mayContain, withoutInner } from '../../../src/kernel/json/edit.js'
import {
  type JsonText,
  mapMembers,
  rawText,
  readJson,
  withoutMembers,
} from '../../../src/kernel/json/text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

t.test('a word that does not stand in a text is ruled out, one that may be escaped is not', async t => {
  t.equal(mayContain(json('{"a":"uri"}'), '"uri"'), true)
  t.equal(mayContain(json('{"a":"\\"uri\\""}'), '"uri"'), false, 'quotes inside of a text are escaped')
  t.equal(mayContain(json('{"a":1}'), '"uri"', '"b"'), false)
  for (const key of ['\\u0075ri', 'u\\u0072i', '\\u005fmeta', '\\u0055ri']) {
    t.equal(mayContain(json(`{"${key}":1}`), '"uri"'), true, key)
  }
  t.equal(
    mayContain(json('{"a":"\\u001b[0m \\u003cb\\u003e"}'), '"uri"'),
    false,
    'escapes that are no letters',
  )
})

t.test('an edit that keeps a value keeps the object, byte for byte and by reference', async t => {
  const object = json('{ "a" : 1.0 , "b" : 9223372036854775807 }')
  t.equal(
    editMember(object, 'a', value => value),
    object,
  )
  t.equal(
    editMember(object, 'c', () => undefined),
    object,
  )
  t.equal(
    mapMembers(object, (_, value) => value),
    object,
  )
  t.equal(
    withoutMembers(object, () => false),
    object,
  )
})

t.test('an edit touches its own member and nothing around it', async t => {
  const object = json('{ "a" : 1.0 , "b" : 9223372036854775807, "c":{"x":[1e400]} }')
  t.equal(
    editMember(object, 'b', () => rawText('2')).toString(),
    '{ "a" : 1.0 , "b" : 2, "c":{"x":[1e400]} }',
  )
  t.equal(
    editMember(object, 'a', () => undefined)
      .toString()
      .includes('"a"'),
    false,
  )
  t.equal(
    mapMembers(object, (key, value) => (key === 'b' ? value : rawText(`"${key}!"`))).toString(),
    '{ "a" : "a!" , "b" : 9223372036854775807, "c":"c!" }',
  )
  t.same(
    JSON.parse(withoutMembers(object, at => !at.keyIs('b')).toString()),
    JSON.parse('{"b":9223372036854775807}'),
  )
})

t.test('only objects have members to edit', async t => {
  for (const text of ['[1]', '"a"', 'null', '1']) {
    const value = json(text)
    t.equal(
      editMember(value, 'a', () => undefined),
      value,
    )
    t.equal(
      mapMembers(value, () => rawText('0')),
      value,
    )
    t.equal(
      withoutMembers(value, () => true),
      value,
    )
  }
})

t.test('removing the last member of an inner object removes the object', async t => {
  const isOdd = (key: string) => (at: { keyIs(key: string): boolean }) => at.keyIs(key)
  const object = json('{"a":{"x":1},"b":{"x":1,"y":2},"c":{},"d":1}')
  t.equal(withoutInner(object, 'a', isOdd('x')).toString(), '{"b":{"x":1,"y":2},"c":{},"d":1}')
  t.equal(withoutInner(object, 'b', isOdd('x')).toString(), '{"a":{"x":1},"b":{"y":2},"c":{},"d":1}')
  for (const key of ['c', 'd', 'e']) t.equal(withoutInner(object, key, isOdd('x')), object, key)
})
