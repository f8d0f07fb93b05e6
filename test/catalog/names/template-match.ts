import t from 'tap'
import { matchTemplate } from '../../../src/catalog/names/template-match.js'

const ROWS: readonly (readonly [template: string, uri: string, literals: number | undefined])[] = [
  ['file:///{path}', 'file:///a/b', 8],
  ['file:///{path}', 'file:///', 8],
  ['file:///{path}', 'file://', undefined],
  ['file:///a', 'file:///a', 9],
  ['file:///a', 'file:///ab', undefined],
  ['db://{t}/rows/{id}', 'db://x/rows/7', 11],
  ['db://{t}/rows/{id}', 'db://x/cols/7', undefined],
  ['x{a}yy{b}y', 'xyyy', 4],
  ['x{a}yy{b}y', 'xyy', undefined],
  ['a{x}a', 'a', undefined],
  ['a{x}a', 'aa', 2],
  ['{+any}', '', 0],
  ['{+any}', 'x', 0],
  ['{a}{b}', 'x', 0],
  ['x{', 'x{', 2],
  ['x{a}.json{?q}', 'x1.json?q=1', 6],
  ['', '', 0],
]

t.test('a URI matches a template by its literal text, in order and without overlap', async t => {
  for (const [template, uri, literals] of ROWS)
    t.equal(matchTemplate(template, uri), literals, `${template} ${uri}`)
})

t.test('no template and no URI make matching slow', async t => {
  // Of a size that only linear work comes to the end of: anything else meets the time limit of the test.
  const count = 200_000
  const uri = 'a'.repeat(10_000_000)
  t.equal(matchTemplate('{x}a'.repeat(count), uri), count)
  t.equal(matchTemplate(`${'a{x}'.repeat(count)}b`, uri), undefined)
  t.equal(matchTemplate(`${'a{x}'.repeat(count)}b{x}`, uri), undefined)
})
