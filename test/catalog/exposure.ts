import t from 'tap'
import type { ToolVisibility } from '../../src/catalog/exposure.js'
import { createToolFilter, describedBy } from '../../src/catalog/exposure.js'
import { rawText, valueOf } from '../../src/kernel/json/text.js'

const filter = (rules: Partial<ToolVisibility>) =>
  createToolFilter({ allow: undefined, deny: [], rename: {}, override: {}, ...rules })

/** allow, deny → which of the names are shown */
const ROWS: readonly (readonly [
  allow: string[] | undefined,
  deny: string[],
  names: string[],
  shown: string[],
])[] = [
  [undefined, [], ['a', '.b', 'c/d', ''], ['a', '.b', 'c/d', '']],
  [[], [], ['a'], []],
  [['a', 'b*'], [], ['a', 'b', 'bc', 'ab'], ['a', 'b', 'bc']],
  [['*'], ['rm'], ['a', 'rm', 'rms'], ['a', 'rms']],
  [['rm'], ['rm'], ['rm'], []],
  [undefined, ['*'], ['a', '.hidden', 'a/b', 'a/.b', 'a.b', 'ä'], []],
  [undefined, ['admin*'], ['admin/rm', 'admin.rm', 'admin', 'user'], ['user']],
  [undefined, ['{rm,del}_*'], ['rm_x', 'del_y', 'get'], ['get']],
  [['odd(name)', '[x]'], [], ['odd(name)', '[x]'], ['odd(name)', '[x]']],
  [['get?'], [], ['get1', 'get', 'GET1'], ['get1']],
]

t.test('a tool is shown if it is allowed and not denied; globs match any character of a name', async t => {
  for (const [allow, deny, names, shown] of ROWS) {
    const { isAllowed } = filter({ allow, deny })
    t.same(names.filter(isAllowed), shown, JSON.stringify([allow, deny]))
  }
})

t.test('names change only if the operator configures it', async t => {
  const { renamed } = filter({ rename: { x: 'y', y: 'z' } })
  t.same(['x', 'y', 'constructor', 'q'].map(renamed), ['y', 'z', 'constructor', 'q'])
})

t.test(
  'what the operator says about a tool replaces what its server says, and leaves the rest as it was written',
  async t => {
    const { overridden } = filter({
      override: {
        x: { title: 'T', description: 'D', annotations: { readOnlyHint: true, title: 'A' } },
        y: { annotations: { a: 1 } },
        z: { title: 'T' },
      },
    })
    const own = rawText('{"name":"x","description":"theirs","annotations":{"title":"B","b":1e400},"n":1.0}')
    t.equal(
      overridden('x', own).toString(),
      '{"name":"x","description":"D","annotations":{"title":"A","b":1e400,"readOnlyHint":true},"n":1.0,"title":"T"}',
    )
    t.equal(overridden('other', own), own)
    t.equal(overridden('y', rawText('{"annotations":null}')).toString(), '{"annotations":{"a":1}}')
    t.equal(overridden('z', rawText('{}')).toString(), '{"title":"T"}')
  },
)

t.test('a tool without a description is described by a template', async t => {
  const silent = rawText(
    '{"name":"run","title":"Run it","inputSchema":{"properties":{"sql":{},"limit":{}}},"description":" "}',
  )
  const described = (template: string, tool = silent): unknown =>
    (valueOf(describedBy(template, tool, 'db')) as { description: unknown }).description
  t.equal(
    described('{title} ({name}) of {server}: {arguments}; {other}'),
    'Run it (run) of db: sql, limit; {other}',
  )
  t.equal(described('{title}', rawText('{"name":"x"}')), 'x')
  t.equal(described('{title}', rawText('{"name":"x","description":"mine"}')), 'mine')
})
