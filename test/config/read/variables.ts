import fc from 'fast-check'
import t from 'tap'
import { expand, expandHome, withoutDefaults } from '../../../src/config/read/variables.js'

const ENV = { A: 'alpha', E: '', R: '${A}', D: '$&$1', ABSENT: undefined }

t.test('each form of a variable becomes what it stands for', async t => {
  const table: Record<string, string> = {
    '': '',
    'no variables': 'no variables',
    '$A and %A% and $env:A': '$A and %A% and $env:A',
    '${A}': 'alpha',
    'x${A}y${env:A}z': 'xalphayalphaz',
    '${A:-d}': 'alpha',
    '${env:A:-d}': 'alpha',
    '${E}': '',
    '${E:-d}': 'd',
    '${NOPE:-d}': 'd',
    '${ABSENT:-d}': 'd',
    '${NOPE:-}': '',
    '${env:NOPE:-a:-b c}': 'a:-b c',
    '$${A}': '${A}',
    '$$${A}': '$${A}',
    '$${A}${A}': '${A}alpha',
    '${R}': '${A}',
    '${D}': '$&$1',
    '${toString:-own names only}': 'own names only',
  }
  for (const [from, to] of Object.entries(table)) t.match(expand(from, ENV), { text: to, faults: [] }, from)
})

t.test('what cannot be expanded stays as it is and is named', async t => {
  const unset = (name: string) => ({ is: 'unset', name })
  const unknown = { is: 'unknown-form' }
  const table: [string, object[]][] = [
    ['${NOPE}', [unset('NOPE')]],
    ['${env:NOPE}', [unset('NOPE')]],
    ['${ABSENT}', [unset('ABSENT')]],
    ['${toString}', [unset('toString')]],
    ['${B} ${C}', [unset('B'), unset('C')]],
    ['${', [unknown]],
    ['${}', [unknown]],
    ['${A', [unknown]],
    ['${1A}', [unknown]],
    ['${input:key}', [unknown]],
    ['${cmd:/etc/x}', [unknown]],
    ['${A#x}', [unknown]],
    ['${A:-${B}}', [unknown]],
  ]
  for (const [text, faults] of table) t.strictSame(expand(text, ENV), { text, faults, variables: [] }, text)
})

t.test('values of variables are known by their names', async t => {
  const { variables } = expand('${A}-${env:E:-d}-$${A}-${NOPE:-x}-${E}', ENV)
  t.same(variables, [
    { name: 'A', value: 'alpha' },
    { name: 'E', value: 'd' },
    { name: 'NOPE', value: 'x' },
    { name: 'E', value: '' },
  ])
})

t.test('any text can be written, and any value can be in a variable', async t => {
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1 }), (text, value) => {
      const escaped = text.replaceAll('$', 'S').concat('$${').concat('${V}')
      t.strictSame(expand(escaped, { V: value }).text, `${text.replaceAll('$', 'S')}\${${value}`)
    }),
    { numRuns: 50 },
  )
})

t.test('a home folder takes the place of a leading tilde only', async t => {
  const table: Record<string, string> = {
    '~': '/h',
    '~/x': '/h/x',
    '~\\x': '/h\\x',
    '~bob/x': '~bob/x',
    '/a/~/x': '/a/~/x',
    x: 'x',
  }
  for (const [from, to] of Object.entries(table)) t.equal(expandHome(from, { HOME: '/h' }), to, from)
  t.equal(expandHome('~/x', { USERPROFILE: 'C:\\u' }), 'C:\\u/x')
  t.equal(expandHome('~/x', {}), undefined)
  t.equal(expandHome('~/x', { HOME: '' }), undefined)
  t.equal(expandHome('x', {}), 'x')
})

t.test('for printing, a variable loses its default', async t => {
  t.equal(withoutDefaults('a ${B:-secret} ${env:C:-secret} ${D} $${E}'), 'a ${B} ${C} ${D} $${E}')
})
