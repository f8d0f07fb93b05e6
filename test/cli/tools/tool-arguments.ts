import t from 'tap'
import { toolArguments } from '../../../src/cli/tools/tool-arguments.js'
import { textOf } from '../../../src/kernel/json/text.js'

const schema = textOf({
  type: 'object',
  properties: {
    s: { type: 'string' },
    n: { type: 'number' },
    i: { type: 'integer' },
    b: { type: 'boolean' },
    a: { type: 'array' },
    o: { type: 'object' },
    sn: { type: ['string', 'null'] },
    si: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    any: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/x' }] },
    e: { enum: ['1', '2'] },
    free: {},
  },
})

const FITS: readonly (readonly [pair: string, json: string])[] = [
  ['s=5', '{"s":"5"}'],
  ['s=', '{"s":""}'],
  ['s="q"', '{"s":"\\"q\\""}'],
  ['s=a=b', '{"s":"a=b"}'],
  ['n=1.0', '{"n":1.0}'],
  ['n=1e400', '{"n":1e400}'],
  ['i=12345678901234567890', '{"i":12345678901234567890}'],
  ['b=false', '{"b":false}'],
  ['a=["x", 1.50]', '{"a":["x", 1.50]}'],
  ['o={"k": null}', '{"o":{"k": null}}'],
  ['sn=null', '{"sn":null}'],
  ['sn=nil', '{"sn":"nil"}'],
  ['si=7', '{"si":7}'],
  ['si=7a', '{"si":"7a"}'],
  ['any={"x":1}', '{"any":{"x":1}}'],
  ['e=1', '{"e":"1"}'],
  ['free=01', '{"free":"01"}'],
  ['free=1', '{"free":1}'],
  ['unknown=[1]', '{"unknown":[1]}'],
  ['__proto__=x', '{"__proto__":"x"}'],
]

t.test('a value becomes what the input schema says, with its numbers as they were written', async t => {
  for (const [pair, json] of FITS) t.equal(toolArguments([pair], undefined, schema).toString(), json, pair)
  t.equal(toolArguments([], undefined, undefined).toString(), '{}')
})

const MISFITS: readonly (readonly [pairs: string[], says: RegExp])[] = [
  [['n=abc'], /n must be a number, not "abc"/],
  [['i="5"'], /i must be a number/],
  [['b=yes'], /b must be a boolean/],
  [['a=x'], /a must be an array in JSON/],
  [['o=[]'], /o must be an object in JSON/],
  [['s'], /"s" is not key=value/],
  [['=s'], /"=s" is not key=value/],
  [['a=[]', 'a=[]'], /a is given twice/],
]

t.test('a value that does not fit is told before the server is asked', async t => {
  for (const [pairs, says] of MISFITS)
    t.throws(() => toolArguments(pairs, undefined, schema), { code: 2, message: says })
  for (const args of ['{', '[]', '1', ''])
    t.throws(() => toolArguments([], args, schema), { code: 2, message: /^--args/ })
})

t.test('key=value wins over --args, whose other bytes stay', async t => {
  t.equal(toolArguments(['n=2'], ' {"n":1, "x":1.0} ', schema).toString(), '{"n":2, "x":1.0}')
})

t.test('an argument that a closed schema does not have is told with the one that was meant', async t => {
  const closed = textOf({ properties: { path: { type: 'string' } }, additionalProperties: false })
  t.throws(() => toolArguments(['pth=x'], undefined, closed), {
    message: /no argument "pth"; did you mean path\?/,
  })
  t.throws(() => toolArguments(['zzz=x'], undefined, closed), { message: /no argument "zzz"; it has path/ })
})
