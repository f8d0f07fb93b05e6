import fc from 'fast-check'
import t from 'tap'
import { JsonCursor } from '../../../src/kernel/json/cursor.js'
import { OPEN_ARRAY, OPEN_OBJECT } from '../../../src/kernel/json/scan.js'
import { rawText, readJson } from '../../../src/kernel/json/text.js'
import { mutated, values } from '../../support/arbitraries.js'
import { runs } from '../../support/property.js'

/** The walk does not decode keys: JSON.parse rejects bad escapes. */
const isAnswered = (ask: () => unknown): boolean => {
  try {
    ask()
    return true
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return false
  }
}

t.test('over invalid JSON, a walk ends and stays within the bytes', async t => {
  const property = fc.property(mutated(values), fc.constantFrom('', '{', '['), (bytes, before) => {
    const text = rawText(before + bytes.toString('latin1'))
    for (const open of [OPEN_OBJECT, OPEN_ARRAY] as const) {
      const at = new JsonCursor(text, open)
      let items = 0
      while (at.next()) {
        if (++items > text.length) return false
        if (at.value.byteOffset + at.value.length > text.byteOffset + text.length) return false
        isAnswered(() => at.keyIs('a'))
      }
      if (at.next()) return false
    }
    return true
  })
  t.doesNotThrow(() => fc.assert(property, runs(2000)))
})

t.test('a walk tells where each item and the comma before it are', async t => {
  const source = '{ "a" : 1 , "b\\"" :[ "]" ] , "c":"\\\\" }'
  const text = readJson(Buffer.from(source))
  const at = new JsonCursor(text, OPEN_OBJECT)
  const seen: unknown[] = []
  while (at.next()) {
    seen.push([
      source[at.comma],
      source.slice(at.start, at.keyEnd),
      source.slice(at.valueStart, at.end),
      source[at.stop],
    ])
  }
  t.same(seen, [
    ['{', '"a"', '1', ','],
    [',', '"b\\""', '[ "]" ]', ','],
    [',', '"c"', '"\\\\"', '}'],
  ])
})

t.test('strings end at the first quote that is not escaped', async t => {
  for (let backslashes = 0; backslashes < 9; backslashes++) {
    const first = `"${'\\\\'.repeat(backslashes)}"`
    const second = `"${'\\\\'.repeat(backslashes)}\\" , ["`
    const at = new JsonCursor(readJson(Buffer.from(`[${first},${second},3]`)), OPEN_ARRAY)
    const seen: string[] = []
    while (at.next()) seen.push(at.value.toString())
    t.same(seen, [first, second, '3'])
  }
})

t.test('a long run of backslashes or escaped quotes costs no more than its length', async t => {
  const runs = ['\\\\'.repeat(1_000_000), '\\"'.repeat(1_000_000), `${'\\\\'.repeat(999_999)}\\"`]
  for (const run of runs) {
    const at = new JsonCursor(readJson(Buffer.from(`["${run}",1]`)), OPEN_ARRAY)
    t.ok(at.next())
    t.equal(at.end - at.start, run.length + 2)
    t.ok(at.next())
    t.notOk(at.next())
  }
})

t.test('containers are skipped, with any strings in them', async t => {
  const inner = '{"a]}":["}",{"\\"]":[]}],"b":{}}'
  const at = new JsonCursor(readJson(Buffer.from(`[${inner},${inner}]`)), OPEN_ARRAY)
  t.ok(at.next())
  t.equal(at.value.toString(), inner)
  t.ok(at.next())
  t.equal(at.value.toString(), inner)
  t.notOk(at.next())
})

t.test('a walk over the other kind of container, or over none, finds nothing', async t => {
  t.notOk(new JsonCursor(rawText('[1]'), OPEN_OBJECT).next())
  t.notOk(new JsonCursor(rawText('{"a":1}'), OPEN_ARRAY).next())
  for (const text of ['', '1', '"[1]"']) t.notOk(new JsonCursor(rawText(text), OPEN_ARRAY).next(), text)
})

t.test('a key is the one that it means, however it is written', async t => {
  const letters = fc.constantFrom('a', 'é', '高', '😀', '\ud800', '"', '\\', '/', '\n', '\u0000', 'A', '')
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const spellings = fc.array(fc.tuple(letters, fc.nat(2)), { maxLength: 6 }).map(parts => ({
    meant: parts.map(([letter]) => letter).join(''),
    written: parts
      .map(([letter, way]) => {
        const units = letter.split('')
        if (way === 0) return JSON.stringify(letter).slice(1, -1)
        return units.map(way === 1 ? escaped : unit => escaped(unit).toUpperCase().replace('U', 'u')).join('')
      })
      .join(''),
  }))
  const property = fc.property(spellings, spellings, (one, other) => {
    const at = new JsonCursor(readJson(Buffer.from(`{"${one.written}":1}`)), OPEN_OBJECT)
    if (!at.next() || at.key !== JSON.parse(`"${one.written}"`)) return false
    return [one.meant, other.meant, `${one.meant}x`, one.meant.slice(1), other.meant + one.meant].every(
      key => at.keyIs(key) === (key === at.key),
    )
  })
  t.doesNotThrow(() => fc.assert(property, runs(2000)))
})

t.test('no key is decoded to see that it is another', async t => {
  const keys = ['\\u0061', '\\u006eam\\u0065_', '\\u006eame\\u0041', '\\n', 'n\\u0061m', 'n\\u00e9']
  const text = readJson(Buffer.from(`{${keys.map(key => `"${key}":1`).join()}}`))
  const parsed = t.capture(JSON, 'parse', JSON.parse)
  const at = new JsonCursor(text, OPEN_OBJECT)
  while (at.next()) t.notOk(at.keyIs('name'))
  t.equal(parsed().length, 0)
})
