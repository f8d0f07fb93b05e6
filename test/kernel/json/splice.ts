import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  arrayText,
  at,
  editMembers,
  elementsOf,
  type JsonText,
  mapElements,
  mapInElements,
  memberOf,
  membersOf,
  objectText,
  ownText,
  rawText,
  readJson,
  valueOf,
  withAt,
  withMember,
  withMembers,
  withoutMember,
  withoutOuter,
} from '../../../src/kernel/json/text.js'
import { arrays, keys, objects, values, written } from '../../support/arbitraries.js'
import { runs } from '../../support/property.js'

const read = (text: string): JsonText => readJson(Buffer.from(text))
const braces = ['{', '}'] as const
const brackets = ['[', ']'] as const

t.test('a member is replaced or appended, and every other byte stays', async t => {
  const property = fc.property(objects, keys, values, (object, spelling, value) => {
    const key: string = JSON.parse(spelling)
    const source = written(object, braces)
    const index = object.items.findIndex(item => JSON.parse(item.key) === key)
    const last = object.items.length - 1
    const added = `"${JSON.stringify(key).slice(1, -1)}":${value}`
    const items = object.items.map((item, i) => {
      if (i === index) return { ...item, value }
      return index < 0 && i === last ? { ...item, value: `${item.value},${added}` } : item
    })
    const expected = items.length > 0 ? written({ ...object, items }, braces) : `{${added}${object.inside}}`
    const before = read(source)
    const after = withMember(before, key, read(value))
    return after.toString() === expected && readJson(after) === after && before.toString() === source
  })
  t.doesNotThrow(() => fc.assert(property, runs(600)))
})

t.test('several members are set at once as they would be one after the other', async t => {
  const members = fc.uniqueArray(fc.tuple(keys, values), {
    maxLength: 4,
    selector: ([key]) => String(JSON.parse(key)),
  })
  const property = fc.property(objects, members, (object, spellings) => {
    const pairs = spellings.map(([key, value]) => [String(JSON.parse(key)), read(value)] as const)
    const before = read(written(object, braces))
    const after = withMembers(before, pairs)
    const expected = pairs.reduce((text, [key, value]) => withMember(text, key, value), before)
    return after.toString() === expected.toString() && readJson(after) === after
  })
  t.doesNotThrow(() => fc.assert(property, runs(600)))
})

t.test('members are removed with one comma each, and the others keep their bytes', async t => {
  const property = fc.property(objects, fc.array(keys, { maxLength: 3 }), (object, spellings) => {
    const gone = spellings.map(spelling => String(JSON.parse(spelling)))
    const before = read(written(object, braces))
    const after = withoutMember(before, ...gone)
    const kept = object.items.filter(item => !gone.includes(JSON.parse(item.key)))
    if (kept.length === object.items.length) return after === before
    readJson(after)
    return isDeepStrictEqual(
      [...membersOf(after)].map(({ key, value }) => [key, value.toString()]),
      kept.map(({ key, value }) => [JSON.parse(key), value]),
    )
  })
  t.doesNotThrow(() => fc.assert(property, runs(600)))
})

t.test('removal leaves the white space around as it was', async t => {
  const table: readonly (readonly [text: string, keys: readonly string[], left: string])[] = [
    ['{"a":1}', ['a'], '{}'],
    ['{ "a" : 1 }', ['a'], '{  }'],
    ['{ "a":1 , "b":2 , "c":3 }', ['a'], '{  "b":2 , "c":3 }'],
    ['{ "a":1 , "b":2 , "c":3 }', ['b'], '{ "a":1  , "c":3 }'],
    ['{ "a":1 , "b":2 , "c":3 }', ['c'], '{ "a":1 , "b":2  }'],
    ['{ "a":1 , "b":2 , "c":3 }', ['c', 'a'], '{  "b":2  }'],
    ['{"a":1,"b":2,"c":3}', ['a', 'b'], '{"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['b', 'c'], '{"a":1}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'b', 'c'], '{}'],
    ['{"a":1,"b":2,"\\u0061":3}', ['a'], '{"b":2}'],
    ['{"b":{"a":1},"a":[1,2]}', ['a'], '{"b":{"a":1}}'],
  ]
  for (const [text, gone, left] of table) {
    t.equal(withoutMember(read(text), ...gone).toString(), left, `${text} without ${gone.join()}`)
  }
  const array = read('["a"]')
  t.equal(withoutMember(array, 'a'), array, 'an array has no members to remove')
})

t.test('a deep member is set, and objects that are missing are made', async t => {
  const table: readonly (readonly [text: string, path: readonly string[], result: string])[] = [
    ['{}', ['_meta', 'progressToken'], '{"_meta":{"progressToken":7}}'],
    ['{ "a" : 1.0 }', ['_meta', 'x', 'y'], '{ "a" : 1.0,"_meta":{"x":{"y":7}} }'],
    ['{"_meta": { } ,"a":1E+2}', ['_meta', 't'], '{"_meta": {"t":7 } ,"a":1E+2}'],
    ['{"_meta":{"t" : "old"} }', ['_meta', 't'], '{"_meta":{"t" : 7} }'],
    ['{"\\u0061":{"b":{"c":1,"d":2}}}', ['a', 'b', 'c'], '{"\\u0061":{"b":{"c":7,"d":2}}}'],
    ['{"_meta":null}', ['_meta', 't'], '{"_meta":{"t":7}}'],
    ['{"_meta":[1],"b":2}', ['_meta', 't', 'u'], '{"_meta":{"t":{"u":7}},"b":2}'],
    ['{"a":{"b":1}}', ['a'], '{"a":7}'],
    ['{"a":1}', [], '7'],
    ['{}', ['é"\\', '\ud800'], '{"é\\"\\\\":{"\\ud800":7}}'],
  ]
  for (const [text, path, result] of table) {
    // In the middle of a longer message, so that offsets do not begin at 0.
    const object = [...elementsOf(read(`[ 1,${text}]`))][1] ?? read('{}')
    t.equal(withAt(object, path, rawText('7')).toString(), result, `${text} at ${path.join('/')}`)
    t.equal(object.toString(), text, 'what it was made from is untouched')
  }
})

t.test('what was set at any path is found there, and the rest is as before', async t => {
  const paths = fc.array(
    keys.map(key => String(JSON.parse(key))),
    { minLength: 1, maxLength: 3 },
  )
  const property = fc.property(objects, paths, values, (object, path, value) => {
    const before = read(written(object, braces))
    const after = readJson(withAt(before, path, read(value)))
    const others = (text: JsonText) =>
      [...membersOf(withoutMember(text, path[0] ?? ''))].map(m => `${m.key} ${m.value}`)
    return at(after, ...path)?.toString() === value && isDeepStrictEqual(others(after), others(before))
  })
  t.doesNotThrow(() => fc.assert(property, runs(400)))
})

t.test('setting an equal value returns the same reference', async t => {
  const object = read('{"a":{"b" : "x"}}')
  t.equal(withAt(object, ['a', 'b'], rawText('"x"')), object)
  t.equal(withMember(object, 'a', rawText('{"b" : "x"}')), object)
  t.not(withMember(object, 'a', rawText('{"b":"x"}')), object)
  t.equal(withMembers(object, [['a', rawText('{"b" : "x"}')]]), object)
  t.equal(withMembers(object, []), object)
})

t.test('only an object can be given a member', async t => {
  for (const text of ['[]', '1', '"{}"', 'null']) {
    t.throws(() => withMember(read(text), 'a', rawText('1')), TypeError, text)
    t.throws(() => withAt(read(text), ['a', 'b'], rawText('1')), TypeError, text)
    t.throws(() => withMembers(read(text), []), TypeError, text)
  }
})

t.test('elements are replaced or dropped, and every other byte stays', async t => {
  const fates = fc.array(fc.constantFrom('keep', 'drop', 'replace'), { minLength: 5, maxLength: 5 })
  const property = fc.property(arrays, fates, values, (array, fate, value) => {
    const source = written(array, brackets)
    const before = read(source)
    const put = read(value)
    const after = mapElements(before, (element, i) =>
      fate[i] === 'drop' ? undefined : fate[i] === 'replace' ? put : element,
    )
    const used = array.items.map((_, i) => fate[i])
    if (used.every(one => one === 'keep')) return after === before
    readJson(after)
    const items = array.items.map((item, i) => (fate[i] === 'replace' ? { ...item, value } : item))
    // Without a drop the whole text is known; with one, the elements are.
    if (!used.includes('drop')) return after.toString() === written({ ...array, items }, brackets)
    return isDeepStrictEqual(
      [...elementsOf(after)].map(String),
      items.filter((_, i) => fate[i] !== 'drop').map(item => item.value),
    )
  })
  t.doesNotThrow(() => fc.assert(property, runs(600)))
})

t.test('a dropped element takes one comma and leaves the white space', async t => {
  const drop = (text: string, ...gone: number[]) =>
    mapElements(read(text), (element, i) => (gone.includes(i) ? undefined : element)).toString()
  t.equal(drop('[ 1 , 2 , 3 ]', 0), '[  2 , 3 ]')
  t.equal(drop('[ 1 , 2 , 3 ]', 1), '[ 1  , 3 ]')
  t.equal(drop('[ 1 , 2 , 3 ]', 2), '[ 1 , 2  ]')
  t.equal(drop('[1,2,3]', 0, 1), '[3]')
  t.equal(drop('[1,2,3]', 0, 2), '[2]')
  t.equal(drop('[1,2,3]', 0, 1, 2), '[]')
  const object = read('{"a":1}')
  t.equal(
    mapElements(object, () => undefined),
    object,
    'an object has no elements',
  )
})

t.test('texts are joined to arrays and objects byte for byte', async t => {
  const property = fc.property(fc.array(fc.tuple(keys, values)), all => {
    const members = all.map(([key, value]) => [String(JSON.parse(key)), read(value)] as const)
    const array = readJson(arrayText(members.map(([, value]) => value)))
    const object = readJson(objectText(members))
    const raw = all.map(([, value]) => value)
    return (
      array.toString() === `[${raw.join(',')}]` &&
      object.toString() === `{${members.map(([key], i) => `${JSON.stringify(key)}:${raw[i]}`).join(',')}}`
    )
  })
  t.doesNotThrow(() => fc.assert(property, runs(300)))
  t.same(valueOf(objectText([['é😀', arrayText([])]])), { 'é😀': [] })
})

t.test('texts that stand side by side in memory are joined as any others', async t => {
  const picked = fc.array(fc.tuple(fc.nat({ max: 20 }), fc.boolean()), { maxLength: 12 })
  const property = fc.property(arrays, picked, (array, choices) => {
    const elements = [...elementsOf(read(written(array, brackets)))]
    // In their order and not, more than once, from where they stand and copied.
    const some = choices.flatMap(([n, isCopied]) => {
      const element = elements[n % Math.max(1, elements.length)]
      return element === undefined ? [] : [isCopied ? ownText(element) : element]
    })
    return [elements, elements.slice(1), some].every(
      texts =>
        arrayText(texts).toString() === `[${texts.join()}]` &&
        objectText([['a', texts]]).toString() === `{"a":[${texts.join()}]}`,
    )
  })
  t.doesNotThrow(() => fc.assert(property, runs(300)))
})

t.test('a large text is spliced as a small one', async t => {
  const large = 'x'.repeat(1_000_000)
  const text = withMember(read(`{"id":1,"result":"${large}"}`), 'id', rawText('"abc"'))
  t.equal(text.toString(), `{"id":"abc","result":"${large}"}`)
})

t.test('members are kept, replaced and removed in one walk, and every other byte stays', async t => {
  const object = read('{ "a" : [1, 2] ,"b":2, "c" :3,"d": 4 }')
  const changed = editMembers(object, ({ key, value }) => {
    if (key === 'a') return value
    if (key === 'b') return rawText('"two"')
    return key === 'd'
  })
  t.equal(changed.toString(), '{ "a" : [1, 2] ,"b":"two","d": 4 }')
  t.equal(
    editMembers(object, at => at.value),
    object,
    'the same reference if every value is kept',
  )
  t.equal(editMembers(object, () => false).toString(), '{  }')
  t.equal(
    editMembers(object, ({ value }) => readJson(Buffer.from(value))).toString(),
    object.toString(),
    'a value that is spelled the same changes no byte',
  )
})

t.test('a member that stands first or last, without white space, is removed without a walk', async t => {
  const cases = [
    '{"_meta":{"a":1},"b":2}',
    '{"b":{"_meta":3},"_meta":{"a":1}}',
    '{"b":[1,2],"c":"\\"","_meta":null}',
  ]
  for (const text of cases) {
    const object = read(text)
    const value = memberOf(object, '_meta') ?? object
    t.equal(withoutOuter(object, '_meta', value)?.toString(), withoutMember(object, '_meta').toString(), text)
    t.equal(object.toString(), text, 'the object itself stays')
  }
  const others = [
    '{"_meta":1}',
    '{"a":1,"_meta":2,"b":3}',
    '{"a":1, "_meta":2}',
    '{"a":1,"_meta" :2}',
    '{ "_meta":2,"a":1}',
    '{"a":1,"_m\\u0065ta":2}',
  ]
  for (const text of others) {
    const object = read(text)
    t.equal(withoutOuter(object, '_meta', memberOf(object, '_meta') ?? object), undefined, text)
  }
  const stranger = read('{"_meta":1,"a":2}')
  t.equal(
    withoutOuter(read('{"_meta":1,"a":2}'), '_meta', memberOf(stranger, '_meta') ?? stranger),
    undefined,
  )
})

t.test('a member of the elements changes, and no other byte', async t => {
  const upper = (value: JsonText): JsonText => read(value.toString().toUpperCase())
  const text = read(
    '[ {"u":"a" , "x":{"u":"b"},"n":1.0},{"y":"u"}, "u", ["u"], {"\\u0075":"c","u":"d"}, {} ]',
  )
  t.equal(
    mapInElements(text, 'u', upper).toString(),
    '[ {"u":"A" , "x":{"u":"b"},"n":1.0},{"y":"u"}, "u", ["u"], {"\\u0075":"C","u":"D"}, {} ]',
  )
  t.equal(
    mapInElements(text, 'u', value => value),
    text,
  )
  for (const other of ['{"u":"a"}', '"u"', '[]', 'null'].map(read))
    t.equal(mapInElements(other, 'u', upper), other)
})
