import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import t from 'tap'
import { invalidUtf8At } from '../../../src/kernel/json/scan.js'
import { JsonTextError, readJson } from '../../../src/kernel/json/text.js'
import { mutated, space, values } from '../../support/arbitraries.js'
import { runs } from '../../support/property.js'

/** The verdict of JSON.parse on bytes that may be invalid UTF-8 or begin with a byte order mark. */
const oracle = (bytes: Buffer): 'fine' | 'refused' => {
  if (!isUtf8(bytes)) return 'refused'
  try {
    JSON.parse(bytes.toString().replace(/^\ufeff/, ''))
    return 'fine'
  } catch {
    return 'refused'
  }
}

/**
 * How deep the brackets of a valid document go; counted in the text, because a repeated key hides a value.
 */
const depthOf = (text: string): number => {
  let depth = 0
  let deepest = 0
  for (const bracket of text.replace(/"(\\.|[^"\\])*"/g, '')) {
    if ('{['.includes(bracket)) deepest = Math.max(deepest, ++depth)
    if ('}]'.includes(bracket)) depth--
  }
  return deepest
}

const verdict = (bytes: Buffer, depth = 512, members = Number.POSITIVE_INFINITY): 'fine' | 'refused' => {
  try {
    readJson(bytes, { depth, members })
    return 'fine'
  } catch (thrown) {
    if (!(thrown instanceof JsonTextError)) throw thrown
    if (thrown.at < 0 || thrown.at > bytes.length) throw new Error(`offset ${thrown.at} is outside`)
    return 'refused'
  }
}

/** Returns the position at which a text is rejected; undefined if it is valid. */
const refusedAt = (text: string | Buffer): number | undefined => {
  try {
    readJson(Buffer.from(text))
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof JsonTextError)) throw thrown
    return thrown.at
  }
}

t.test('every document is accepted and comes back byte for byte, without the space around it', async t => {
  const property = fc.property(values, space, space, fc.boolean(), (text, before, after, hasMark) => {
    const bytes = Buffer.from((hasMark ? '\ufeff' : '') + before + text + after)
    return readJson(bytes).toString() === text
  })
  t.doesNotThrow(() => fc.assert(property, runs(500)))
})

t.test('damaged documents are accepted exactly when they are UTF-8 and JSON.parse accepts them', async t => {
  let fine = 0
  let refused = 0
  const property = fc.property(mutated(values), bytes => {
    const expected = oracle(bytes)
    if (expected === 'fine') fine++
    else refused++
    return verdict(bytes) === expected
  })
  t.doesNotThrow(() => fc.assert(property, runs(6000)))
  t.ok(fine > 300 && refused > 300, 'both verdicts were met often', { fine, refused })
})

t.test('any short sequence of structural bytes gets the verdict of JSON.parse', async t => {
  const bytes = fc.array(fc.constantFrom(...Buffer.from('{}[]",:\\u01-.eE+ \ntrue')), { maxLength: 7 })
  const property = fc.property(bytes, all => verdict(Buffer.from(all)) === oracle(Buffer.from(all)))
  t.doesNotThrow(() => fc.assert(property, runs(8000)))
})

t.test('a document that is cut off anywhere is refused at its end', async t => {
  const whole = Buffer.from('{"a\\u00e9\\n":[-1.5e+10,true,null,{"道":"x y z 1 2 3 4"}], "b" : { } }')
  for (let length = 0; length < whole.length; length++) {
    const at = refusedAt(whole.subarray(0, length))
    // Inside of 道 the text is invalid UTF-8, which is reported at the start of that character.
    const isInsideCharacter = length > 0 && !isUtf8(whole.subarray(0, length))
    t.equal(at, isInsideCharacter ? whole.indexOf('道') : length, `cut to ${length} bytes`)
  }
})

t.test('what is wrong is found at its place, and the message does not repeat it', async t => {
  const table: readonly (readonly [text: string, at: number, what: RegExp])[] = [
    ['', 0, /too early/],
    [' \n', 2, /too early/],
    ['x', 0, /a value/],
    ['[1,]', 3, /a value/],
    ['[,1]', 1, /a value/],
    ['[1 2]', 3, /a comma or \]/],
    ['[1}', 2, /a comma or \]/],
    ['{"a":1]', 6, /a comma or \}/],
    ['{"a" 1}', 5, /a colon/],
    ['{"a":1,}', 7, /a member name/],
    ['{a:1}', 1, /a member name/],
    ['{1:1}', 1, /a member name/],
    ["{'a':1}", 1, /a member name/],
    ['1 2', 2, /nothing after/],
    ['{}}', 2, /nothing after/],
    ['01', 1, /nothing after/],
    ['+1', 0, /a value/],
    ['.5', 0, /a value/],
    ['-', 1, /too early/],
    ['-a', 1, /a digit/],
    ['1.', 2, /too early/],
    ['[1.]', 3, /a digit/],
    ['[1e]', 3, /a digit/],
    ['[1e+]', 4, /a digit/],
    ['NaN', 0, /a value/],
    ['tru', 3, /too early/],
    ['trux', 3, /true, false or null/],
    ['nul1', 3, /true, false or null/],
    ['fals ', 4, /true, false or null/],
    ['truex', 4, /nothing after/],
    ['"a', 2, /too early/],
    ['"a\\"', 4, /too early/],
    ['"a\\', 3, /too early/],
    ['"a\nb"', 2, /control character/],
    ['"abcdefgh\u0000b"', 9, /control character/],
    ['"\\x"', 2, /after a backslash/],
    ['"\\u12g4"', 5, /hexadecimal/],
    ['"\\u12', 5, /too early/],
    ['[\u00a01]', 1, /a value/],
    ['\u000b1', 0, /a value/],
    ['/**/1', 0, /a value/],
    ['\ufeff\ufeff1', 3, /a value/],
    ['1\ufeff', 1, /nothing after/],
  ]
  for (const [text, at, what] of table) {
    t.throws(
      () => readJson(Buffer.from(text)),
      { name: 'JsonTextError', at, message: what },
      JSON.stringify(text),
    )
  }
  t.throws(() => readJson(Buffer.from('{"secret" "hunter2"}')), { message: 'expected a colon at byte 10' })
})

t.test('invalid UTF-8 is refused at the first invalid byte', async t => {
  const table: Record<string, readonly number[]> = {
    'overlong, two bytes': [0xc0, 0x80],
    'overlong ASCII': [0xc1, 0xbf],
    'overlong, three bytes': [0xe0, 0x9f, 0xbf],
    'overlong, four bytes': [0xf0, 0x8f, 0xbf, 0xbf],
    'first surrogate': [0xed, 0xa0, 0x80],
    'last surrogate': [0xed, 0xbf, 0xbf],
    'above U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
    'start byte F5': [0xf5, 0x80, 0x80, 0x80],
    'byte FF': [0xff],
    'lone continuation': [0x80],
    'two bytes, one missing': [0xc3],
    'three bytes, one missing': [0xe9, 0x81],
    'three bytes, two missing': [0xe9],
    'four bytes, one missing': [0xf0, 0x9f, 0x98],
    'start byte after start byte': [0xe9, 0xe9, 0x81, 0x93],
  }
  const good = 'aé\u07ff\u0800道\ud7ff\ue000\uffff😀\u{10ffff}'
  const before = Buffer.from(`["${good}", "`)
  for (const [name, bad] of Object.entries(table)) {
    t.equal(refusedAt(Buffer.concat([before, Buffer.from(bad), Buffer.from('"]')])), before.length, name)
    t.equal(refusedAt(Buffer.concat([before, Buffer.from(bad)])), before.length, `${name}, at the end`)
  }
  t.equal(refusedAt(`["${good}"]`), undefined, 'the neighbours of all these are fine')
})

t.test('any bytes are UTF-8 for us exactly when they are for Node', async t => {
  const near = fc.constantFrom(
    ...[0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1],
    ...[0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
  )
  const property = fc.property(fc.array(near, { maxLength: 5 }), all => {
    const bytes = Buffer.from(all)
    const at = invalidUtf8At(bytes)
    return at === bytes.length ? isUtf8(bytes) : !isUtf8(bytes) && isUtf8(bytes.subarray(0, at))
  })
  t.doesNotThrow(() => fc.assert(property, runs(5000)))
})

t.test('what JSON.parse would round or replace is legal', async t => {
  const legal =
    '[1e400,-1e400,-0,12345678901234567890,1.0,1E+2,"\\ud800","\\udc00\\ud800","\\u0000","\u007f"]'
  t.equal(readJson(Buffer.from(legal)).toString(), legal)
})

t.test('the depth is the depth of the deepest bracket', async t => {
  const property = fc.property(values, fc.nat(4), (text, maxDepth) => {
    return verdict(Buffer.from(text), maxDepth) === (depthOf(text) <= maxDepth ? 'fine' : 'refused')
  })
  t.doesNotThrow(() => fc.assert(property, runs(500)))
})

t.test('512 levels pass, one more is refused at its bracket', async t => {
  const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels)
  t.equal(refusedAt(nested(512)), undefined)
  t.equal(refusedAt(nested(513)), 512)
  t.equal(refusedAt(`${'{"a":'.repeat(512)}1${'}'.repeat(512)}`), undefined)
  t.equal(refusedAt(`${'{"a":'.repeat(512)}{}${'}'.repeat(512)}`), 512 * 5)
  t.equal(refusedAt(`[${'[],{"a":[]},'.repeat(1000)}1]`), undefined, 'only what is inside each other counts')
  t.equal(verdict(Buffer.from('[[]]'), 2), 'fine')
  t.equal(verdict(Buffer.from('[[{}]]'), 2), 'refused')
  t.equal(verdict(Buffer.from('1'), 0), 'fine')
  t.equal(verdict(Buffer.from('[]'), 0), 'refused')
  t.throws(() => readJson(Buffer.from(nested(513))), { message: 'nested deeper than 512 levels at byte 512' })
})

t.test(
  'a text holds so many members and elements as it may, wherever they are, and not one more',
  async t => {
    const full = Buffer.from('{"a":[1,[],{"b":{}},""],"c":"[,,]"}')
    t.equal(verdict(full, 512, 7), 'fine')
    t.equal(verdict(full, 512, 6), 'refused')
    t.equal(verdict(Buffer.from('[[],{},"",1]'), 512, 4), 'fine')
    for (const empty of ['[]', '{}', '1', '""']) t.equal(verdict(Buffer.from(empty), 512, 0), 'fine')
    t.throws(() => readJson(Buffer.from('[1,2]'), { depth: 512, members: 1 }), {
      limit: 'members',
      message: 'more than 1 members and elements at byte 3',
    })
  },
)

t.test('a million brackets neither overflow the stack nor take long', async t => {
  t.equal(refusedAt('['.repeat(1_000_000)), 512)
  t.equal(refusedAt('{"":'.repeat(1_000_000)), 512 * 4)
  t.equal(
    verdict(Buffer.from('['.repeat(1_000_000)), Number.POSITIVE_INFINITY),
    'refused',
    'even without a bound',
  )
})
