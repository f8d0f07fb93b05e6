import fc from 'fast-check'
import t from 'tap'
import { JsonBudget, JsonTextError, memberOf, membersOf, readJson } from '../../../src/kernel/json/text.js'
import { JsonWalk } from '../../../src/kernel/json/walk.js'
import { mutated, objects, written } from '../../support/arbitraries.js'
import { runs } from '../../support/property.js'

const LIMITS = { depth: 512, members: Number.POSITIVE_INFINITY }

/** The members passed by a walk; with `isDeep`, also those of objects at the top level. */
function walked(bytes: Buffer, isDeep: boolean, limits = LIMITS): { members: string[]; end: number } {
  const members: string[] = []
  const pass = (at: JsonWalk): void => {
    while (at.next()) {
      if (isDeep && at.isObject) {
        const inner = at.enter()
        pass(inner)
        at.leave(inner)
      } else {
        at.skip()
      }
      members.push(at.value.toString('latin1'))
    }
  }
  const at = new JsonWalk(bytes, 0, new JsonBudget(limits))
  pass(at)
  return { members, end: at.end }
}

/** The words of the error that something throws, or what it returns. */
const outcome = <T>(work: () => T): T | string => {
  try {
    return work()
  } catch (thrown) {
    if (!(thrown instanceof JsonTextError)) throw thrown
    return thrown.message
  }
}

const documents = objects.map(object => written(object, ['{', '}']))

t.test('a walk over an object comes by the members that are read from it, at any depth', async t => {
  const property = fc.property(documents, source => {
    const bytes = Buffer.from(source)
    const expected = [...membersOf(readJson(bytes))].map(({ value }) => value.toString('latin1'))
    t.same(walked(bytes, false), { members: expected, end: bytes.length })
    const deep = walked(bytes, true)
    return deep.end === bytes.length && expected.every(member => deep.members.includes(member))
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('every walk refuses invalid JSON with the same message', async t => {
  const property = fc.property(
    mutated(documents).filter(bytes => bytes[0] === 0x7b),
    fc.boolean(),
    fc.record({ depth: fc.integer({ min: 1, max: 5 }), members: fc.integer({ min: 0, max: 50 }) }),
    (bytes, isDeep, limits) => {
      // The code that begins a walk also checks UTF-8 and the end of the text.
      const text = Buffer.from(bytes.toString('latin1').replaceAll(/[\x80-\xff]/g, 'x'))
      const read = outcome(() => readJson(text, limits).length)
      const end = outcome(() => walked(text, isDeep, limits).end)
      const isSame = read === end || (typeof read === 'string' && read.startsWith('expected nothing'))
      return typeof read === 'number' ? typeof end === 'number' : isSame
    },
  )
  t.doesNotThrow(() => fc.assert(property, runs(3000)))
})

t.test('between two members, and between a name and its value, only the right sign will do', t => {
  for (const source of ['{"a":1:"b":2}', '{"a":1 "b":2}', '{"a":1,}', '{,"a":1}', '{"a","b":2}', '{"a" 1}']) {
    const bytes = Buffer.from(source)
    const words = outcome(() => readJson(bytes).length)
    t.type(words, 'string', source)
    t.equal(
      outcome(() => walked(bytes, true).end),
      words,
      source,
    )
  }
  t.end()
})

t.test('keys and values are known in any spelling', async t => {
  const source = '{"a" : 1 , "\\u0062":"2.0","é": {} }'
  const at = new JsonWalk(Buffer.from(source), 0, new JsonBudget(LIMITS))
  const seen: unknown[] = []
  while (at.next()) {
    at.skip()
    const key = ['a', 'b', 'é', ''].find(one => at.keyIs(one))
    seen.push([key, at.valueIs('1'), at.valueIs('"2.0"'), at.isObject, at.value.toString()])
  }
  t.same(seen, [
    ['a', true, false, false, '1'],
    ['b', false, true, false, '"2.0"'],
    ['é', false, false, true, '{}'],
  ])
  t.equal(memberOf(readJson(Buffer.from(source)), 'é')?.toString(), '{}')
})
