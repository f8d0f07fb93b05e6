import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { cleanHeaderText, isVisibleAscii } from '../../../src/wire/http/header-text.js'

t.test('a session id is visible ASCII', async t => {
  for (const text of ['!', '~', 'a', '3f2b-_.:/=', '"', ',;']) t.ok(isVisibleAscii(text), text)
  for (const text of ['', ' ', 'a b', 'a\n', '\na', 'a\t', 'a\x7f', 'é', '😀', 'a\0', 'a ', '\x1f']) {
    t.notOk(isVisibleAscii(text), JSON.stringify(text))
  }
})

t.test('foreign text cannot begin another header', async t => {
  const rows = [
    ['plain text; q="1"', 'plain text; q="1"'],
    ['a\r\nSet-Cookie: b', 'aSet-Cookie: b'],
    ['\0a\tb\x7f\u0085', 'ab'],
    ['  a  b  ', 'a  b'],
    ['Größe 漢 😀', 'Gr??e ? ?'],
    ['a\u2028b', 'a?b'],
    ['\ud83d', '?'],
    ['\r\n', ''],
  ] as const
  for (const [text, clean] of rows) t.equal(cleanHeaderText(text), clean, clean)
})

t.test('Node sends whatever is left', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      validateHeaderValue('x', cleanHeaderText(text))
    }),
  )
})
