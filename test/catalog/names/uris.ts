import fc from 'fast-check'
import t from 'tap'
import { aliasOf } from '../../../src/catalog/names/names.js'
import { exposedUri, matchTemplate, schemeAliases, splitUri } from '../../../src/catalog/names/uris.js'
import { runs } from '../../support/property.js'

t.test('a URI gets its server in front, and one of an interface behind its scheme', async t => {
  const cases: [string, string, string][] = [
    ['gh', 'file:///x', 'gh+file:///x'],
    ['gh', 'file:///{path}', 'gh+file:///{path}'],
    ['gh', '{+all}', 'gh+{+all}'],
    ['gh', 'urn:isbn:1', 'gh+urn:isbn:1'],
    ['my_fs', 'file:///x', 'my.fs+file:///x'],
    ['gh', 'ui://widget/a', 'ui://gh+widget/a'],
    ['my_fs', 'ui://{id}', 'ui://my.fs+{id}'],
    ['gh', '', 'gh+'],
    ['gh', 'gh+file:///x', 'gh+gh+file:///x'],
    ['gh', 'UI://x', 'gh+UI://x'],
    ['gh', 'skill://refunds/SKILL.md', 'skill://gh/refunds/SKILL.md'],
    ['my_fs', 'skill://acme.com/{+path}', 'skill://my_fs/acme.com/{+path}'],
    ['gh', 'skill://gh/x/SKILL.md', 'skill://gh/gh/x/SKILL.md'],
    ['gh', 'skill://x', 'skill://gh/x'],
    ['gh', 'skill://', 'skill://gh/'],
    ['gh', 'skill:///a+b//?q#f', 'skill://gh//a+b//?q#f'],
    ['gh', 'skill:x', 'gh+skill:x'],
    ['gh', 'github://o/r/x/SKILL.md', 'gh+github://o/r/x/SKILL.md'],
  ]
  for (const [alias, uri, exposed] of cases) {
    t.equal(exposedUri(alias, uri), exposed)
    t.same(splitUri(exposed, schemeAliases(['gh', 'my_fs'])), { alias, uri })
  }
})

t.test('an exposed URI is one that URL parsers take', async t => {
  for (const uri of ['file:///x', 'https://a/b?c', 'urn:isbn:1', 'ui://w/a', 'skill://w/a']) {
    t.equal(new URL(exposedUri('my_fs-2', uri)).href, exposedUri('my_fs-2', uri))
  }
})

t.test('a scheme that a URL parser wrote in lower case still finds its server', async t => {
  const find = schemeAliases(['GitHub', 'fs'])
  t.same(splitUri('github+file:///X', find), { alias: 'GitHub', uri: 'file:///X' })
  t.same(splitUri('FS+file:///X', find), { alias: 'fs', uri: 'file:///X' })
  t.same(splitUri('skill://github/X', find), { alias: 'GitHub', uri: 'skill://X' })
})

t.test('servers that differ in case alone are found by the exact alias only', async t => {
  const find = schemeAliases(['GH', 'gh', 'Gh', 'gh'])
  t.same(splitUri('GH+a:b', find), { alias: 'GH', uri: 'a:b' })
  t.same(splitUri('gh+a:b', find), { alias: 'gh', uri: 'a:b' })
  t.equal(splitUri('gH+a:b', find), undefined)
})

t.test('the folder of all skills of a server is its alias', async t => {
  const find = schemeAliases(['gh', 'my_fs'])
  t.same(splitUri('skill://gh', find), { alias: 'gh', uri: 'skill://' })
  t.same(splitUri('skill://my_fs', find), { alias: 'my_fs', uri: 'skill://' })
  t.equal(splitUri('skill://my.fs/x', find), undefined, 'a dot is no underscore')
})

t.test('a URI without an owner is not parsed', async t => {
  const find = schemeAliases(['gh'])
  for (const uri of [
    'file:///x',
    'nobody+file:///x',
    '',
    '+x',
    'ui://x',
    'ui://nobody+x',
    'git+ssh://x',
    'gh',
    'skill://nobody/x',
    'skill://gh+x/y',
    'skill://gh?x/y',
    'skill:///gh/x',
    'skill:gh/x',
    'skill://',
  ]) {
    t.equal(splitUri(uri, find), undefined, uri)
  }
})

t.test('every URI of every server comes back as it was', async _t => {
  const alias = fc.string({ maxLength: 30 }).map(key => aliasOf(key, undefined))
  const uri = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl(),
    fc.webPath().map(path => `ui://${path}`),
    fc.webPath().map(path => `skill://${path}`),
    fc.tuple(alias, fc.webUrl()).map(([other, url]) => exposedUri(other, url)),
  )
  fc.assert(
    fc.property(fc.uniqueArray(alias, { minLength: 1, maxLength: 5 }), uri, (aliases, own) => {
      const find = schemeAliases(aliases)
      for (const owner of aliases) {
        for (const each of [own, exposedUri(owner, own)]) {
          const split = splitUri(exposedUri(owner, each), find)
          if (split?.alias !== owner || split.uri !== each) return false
        }
      }
      return true
    }),
    runs(2000),
  )
})

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
