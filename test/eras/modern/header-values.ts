import fc from 'fast-check'
import t from 'tap'
import { decodeHeaderValue, encodeHeaderValue, trimHeader } from '../../../src/eras/modern/header-values.js'

/** [value, header]: the examples of "Value Encoding", and the edges of its rules. */
const ENCODED: [string, string][] = [
  ['us-west1', 'us-west1'],
  ['us west 1', 'us west 1'],
  ['a\tb', 'a\tb'],
  ['~!', '~!'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  [' us-west1', '=?base64?IHVzLXdlc3Qx?='],
  ['us-west1 ', '=?base64?dXMtd2VzdDEg?='],
  ['\tindented', '=?base64?CWluZGVudGVk?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['line1\r\nline2', '=?base64?bGluZTENCmxpbmUy?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['=?base64?=', '=?base64?PT9iYXNlNjQ/PQ==?='],
  ['=?base64?open', '=?base64?open'],
  ['closed?=', 'closed?='],
  ['\u007f', '=?base64?fw==?='],
  ['', '=?base64??='],
  ['é', '=?base64?w6k=?='],
]

t.test('a value goes into a header as the specification prints it, and comes out again', async t => {
  for (const [value, header] of ENCODED) {
    t.equal(encodeHeaderValue(value), header, JSON.stringify(value))
    t.equal(decodeHeaderValue(header), value, header)
  }
})

t.test('what is marked as encoded and is not is refused', async t => {
  for (const header of [
    '=?base64?SGVsbG8?=',
    '=?base64?SGVs!!!bG8=?=',
    '=?base64?SGVsbG8==?=',
    '=?base64?SGVsbG9=?=',
    '=?base64?SGVs bG8=?=',
    '=?base64?_-8=?=',
    '=?base64?/w==?=',
    '=?base64?7aCA?=',
    '=?base64?Zm9v?=, =?base64?Zm9v?=',
    '=?base64?=?=',
    'é',
    'a\u0000b',
    '\u00a0x',
    'a\u007f',
  ]) {
    t.equal(decodeHeaderValue(header), undefined, JSON.stringify(header))
  }
})

t.test('what is not marked exactly so means itself', async t => {
  for (const header of ['=?BASE64?SGVsbG8=?=', '=?base64?SGVsbG8=', 'SGVsbG8=?=', '=?base64?=', '?=', '']) {
    t.equal(decodeHeaderValue(header), header)
  }
  t.equal(decodeHeaderValue('=?base64?Zm9v?='), 'foo')
})

t.test('spaces and tabs around a header are not part of it', async t => {
  t.equal(decodeHeaderValue(' \t x y \t'), 'x y')
  t.equal(decodeHeaderValue('  =?base64?Zm9v?= '), 'foo')
  t.equal(trimHeader(' \t '), '')
  t.equal(trimHeader('\u00a0x'), '\u00a0x')
})

t.test('any text survives the header, which is nothing but printable ASCII and tabs', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'binary-ascii' }),
    fc.string().map(inner => `=?base64?${inner}?=`),
  )
  fc.assert(
    fc.property(text, value => {
      const header = encodeHeaderValue(value)
      return /^[\t -~]+$/.test(header) && trimHeader(header) === header && decodeHeaderValue(header) === value
    }),
  )
})

t.test('whatever a peer sends is decoded or refused, never thrown over', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), inner => {
      const said = decodeHeaderValue(`=?base64?${inner}?=`)
      return said === undefined || Buffer.from(said).toString('base64') === inner
    }),
  )
  fc.assert(
    fc.property(fc.base64String(), inner => {
      const said = decodeHeaderValue(`=?base64?${inner}?=`)
      return said === undefined || Buffer.from(said).toString('base64') === inner
    }),
  )
})
