import t, { type Test } from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import { HINT_DEFAULTS } from '../../../src/kernel/rule.js'
import { Policy } from '../../../src/mux/rules/policy.js'
import { rulesOf, ruleTool } from '../../support/rules.js'

const LETTERS = { allow: 'a', deny: 'd', ask: 'k' } as const

type Row = readonly [tool: string, args: string, decision: 'a' | 'd' | 'k']

const TOOLS: Readonly<Record<string, object>> = {
  refund: {},
  read: { annotations: { readOnlyHint: true } },
  wipe: {},
}

const decides = (t: Test, rules: unknown, rows: readonly Row[], { trusts = true } = {}): void => {
  for (const [tool, args, expected] of rows) {
    const item = { tool: trusts ? textOf(TOOLS[tool] ?? {}) : undefined }
    const { verdict } = ruleTool(rulesOf(rules), tool, args, { item })
    t.equal(LETTERS[verdict], expected, `${JSON.stringify(rules)} ${tool} ${args}`)
  }
}

const DENY_REST = { then: 'deny' }
const above = { tool: 'refund', when: { '/amount': { above: 500 } }, then: 'ask' }
const below = { tool: 'refund', when: { '/amount': { below: 500 } }, then: 'allow' }

t.test('numbers compare as decimals, and doubt asks', async t => {
  decides(
    t,
    [above],
    [
      ['refund', '{"amount":500}', 'a'],
      ['refund', '{"amount":5e2}', 'a'],
      ['refund', '{"amount":500.00000000000000000001}', 'k'],
      ['refund', '{"amount":"900"}', 'k'],
      ['refund', '{"amount":[900]}', 'k'],
      ['refund', '{"amount":null}', 'k'],
      ['refund', '{"amount":1,"amount":900}', 'k'],
      ['refund', '{"\\u0061mount":1,"amount":900}', 'k'],
      ['refund', '{"amount":1e999999999}', 'k'],
      ['refund', '{"amount":-1e999999999}', 'a'],
      ['refund', '{"amount":1e-999999999}', 'a'],
      ['refund', `{"amount":${'0'.padStart(1)}.${'0'.repeat(120)}1}`, 'k'],
      ['refund', '{}', 'a'],
      ['refund', '[900]', 'a'],
      ['refund', 'null', 'a'],
      ['wipe', '{"amount":900}', 'a'],
    ],
  )
})

t.test('an allow needs certainty', async t => {
  decides(
    t,
    [below, DENY_REST],
    [
      ['refund', '{"amount":10}', 'a'],
      ['refund', '{"amount":-0}', 'a'],
      ['refund', '{"amount":"10"}', 'd'],
      ['refund', '{"amount":900,"amount":10}', 'd'],
      ['refund', '{"amount":10,"amount":10}', 'd'],
      ['refund', '{}', 'd'],
    ],
  )
})

t.test('an allow with * needs every value, other rules one', async t => {
  decides(
    t,
    [{ when: { '/to/*': { glob: '*@acme.com' } }, then: 'allow' }, { then: 'ask' }],
    [
      ['wipe', '{"to":["a@acme.com","b@acme.com"]}', 'a'],
      ['wipe', '{"to":["a@acme.com","x@evil.com"]}', 'k'],
      ['wipe', '{"to":[]}', 'k'],
      ['wipe', '{"to":"a@acme.com"}', 'k'],
      ['wipe', '{"to":{"x":"a@acme.com"}}', 'a'],
      ['wipe', '{"to":{"x":"a@acme.com","x":"b@acme.com"}}', 'k'],
    ],
  )
  decides(
    t,
    [{ when: { '/to/*': { glob: '*@evil.com' } }, then: 'deny' }],
    [
      ['wipe', '{"to":["a@acme.com","x@evil.com"]}', 'd'],
      ['wipe', '{"to":["a@acme.com"]}', 'a'],
      ['wipe', '{"to":[]}', 'a'],
      ['wipe', '{}', 'a'],
      ['wipe', '{"to":"a@acme.com"}', 'd'],
      ['wipe', `{"to":[${Array(1000).fill('"a"').join()}]}`, 'a'],
      ['wipe', `{"to":[${Array(1001).fill('"a"').join()}]}`, 'd'],
    ],
  )
  decides(
    t,
    [{ when: { '/a/*/b': { equals: 1 } }, then: 'allow' }, DENY_REST],
    [
      ['wipe', '{"a":[{"b":1},{"b":1.0}]}', 'a'],
      ['wipe', '{"a":[{"b":1},{}]}', 'd'],
    ],
  )
})

t.test('a path with .. or a control character is in doubt', async t => {
  decides(
    t,
    [{ when: { '/path': { glob: '/home/ann/*' } }, then: 'allow' }, DENY_REST],
    [
      ['read', '{"path":"/home/ann/x"}', 'a'],
      ['read', '{"path":"/home/ann/../root"}', 'd'],
      ['read', '{"path":"/home/ann/..\\\\x"}', 'd'],
      ['read', '{"path":"/home/ann/.."}', 'd'],
      ['read', '{"path":"/home/ann/..x"}', 'a'],
      ['read', '{"path":"/home/ann/\\u0000"}', 'd'],
    ],
  )
  decides(
    t,
    [{ when: { '/path': { glob: '/etc/*' } }, then: 'deny' }],
    [['read', '{"path":"x/../../etc/y"}', 'd']],
  )
  decides(t, [{ when: { '/path': { glob: 'etc*' } }, then: 'deny' }], [['read', '{"path":"x/../etc"}', 'a']])
})

t.test('annotations have the defaults of the specification', async t => {
  decides(
    t,
    [{ annotations: { destructiveHint: true }, then: 'ask' }],
    [
      ['wipe', '{}', 'k'],
      ['read', '{}', 'a'],
    ],
  )
  const readOnly = [{ annotations: { readOnlyHint: true }, then: 'allow' }, DENY_REST]
  decides(t, readOnly, [['read', '{}', 'a']])
  decides(t, readOnly, [['read', '{}', 'd']], { trusts: false })
  const hints = (annotations: object, tool: string): string =>
    ruleTool(rulesOf([{ annotations, then: 'deny' }]), 'x', '{}', {
      item: { tool: textOf(JSON.parse(tool)) },
    }).verdict
  for (const [hint, value] of Object.entries(HINT_DEFAULTS))
    t.equal(hints({ [hint]: value }, '{}'), 'deny', hint)
  t.equal(
    hints({ destructiveHint: true }, '{"annotations":{"readOnlyHint":true,"destructiveHint":true}}'),
    'deny',
  )
  t.equal(hints({ readOnlyHint: true }, '{"annotations":{"readOnlyHint":"true"}}'), 'allow')
})

t.test('equal values have equal types, and the same text as another type is in doubt', async t => {
  decides(
    t,
    [{ when: { '/n': { equals: 5 } }, then: 'deny' }],
    [
      ['read', '{"n":5.0}', 'd'],
      ['read', '{"n":50e-1}', 'd'],
      ['read', '{"n":"5"}', 'd'],
      ['read', '{"n":6}', 'a'],
      ['read', '{"n":"6"}', 'a'],
      ['read', '{"n":[5]}', 'a'],
      ['read', '{}', 'a'],
    ],
  )
  decides(
    t,
    [{ when: { '/n': { oneOf: ['a', true, null, { b: [1] }] } }, then: 'allow' }, DENY_REST],
    [
      ['read', '{"n":"a"}', 'a'],
      ['read', '{"n":"\\u0061"}', 'a'],
      ['read', '{"n":true}', 'a'],
      ['read', '{"n":"true"}', 'd'],
      ['read', '{"n":null}', 'a'],
      ['read', '{"n": { "b" : [1.0] } }', 'a'],
      ['read', '{"n":{"b":["1"]}}', 'd'],
    ],
  )
})

t.test('presence is tested without the value', async t => {
  decides(
    t,
    [{ when: { '/force': { present: true } }, then: 'deny' }],
    [
      ['wipe', '{"force":null}', 'd'],
      ['wipe', '{"force":1,"force":2}', 'd'],
      ['wipe', '{}', 'a'],
    ],
  )
  decides(
    t,
    [{ when: { '/a/0': { present: false } }, then: 'allow' }, DENY_REST],
    [
      ['wipe', '{"a":[]}', 'a'],
      ['wipe', '{}', 'a'],
      ['wipe', '{"a":[1]}', 'd'],
      ['wipe', '{"a":{"0":1}}', 'd'],
      ['wipe', '{"a":{},"a":{}}', 'd'],
    ],
  )
})

t.test('the first rule that matches decides', async t => {
  decides(
    t,
    [
      { tool: 'w*', then: 'allow' },
      { tool: 'wipe', then: 'deny' },
    ],
    [['wipe', '{}', 'a']],
  )
  decides(
    t,
    [{ rate: '1/1d' }, { tool: 'wipe', then: 'deny' }],
    [
      ['wipe', '{}', 'd'],
      ['read', '{}', 'a'],
    ],
  )
})

t.test('callers match by person, scopes and client', async t => {
  const as = (who: object, principal: string, scopes?: readonly string[], client = 'test') => {
    const asker = {
      caller: { principal, scopes: scopes && new Set(scopes) },
      client: { info: textOf({ name: client }) },
    }
    return ruleTool(rulesOf([{ who, then: 'deny' }]), 'x', '{}', { asker }).verdict
  }
  t.equal(as({ people: ['intern-*'] }, 'person intern-bob'), 'deny')
  t.equal(as({ people: 'bob' }, 'person intern-bob'), 'allow')
  t.equal(as({ people: 'local' }, 'local'), 'deny')
  t.equal(as({ people: 'anonymous 10.*' }, 'anonymous 10.0.0.7'), 'deny')
  t.equal(as({ people: 'https://login.example.com f*' }, 'https://login.example.com f3c1'), 'deny')
  t.equal(as({ scopes: ['a', 'b'] }, 'person x', ['a', 'b', 'c']), 'deny')
  t.equal(as({ scopes: ['a', 'b'] }, 'person x', ['a']), 'allow')
  t.equal(as({ scopes: ['a'] }, 'local'), 'allow')
  t.equal(as({ clients: ['cursor*'] }, 'local', undefined, 'cursor-vscode'), 'deny')
  t.equal(as({ clients: ['cursor*'], people: 'x' }, 'local', undefined, 'cursor-vscode'), 'allow')
})

t.test('a URI matches in either spelling to be denied, and in both to be allowed', async t => {
  const verdict = (rules: unknown, own: string): string => {
    const about = new Policy(rulesOf(rules)).about({ kind: 'resource', server: 'shop', own })
    return about[0]?.rule.then ?? 'none'
  }
  const deny = [{ resource: 'file:///etc/*', then: 'deny' }]
  for (const uri of [
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    'file:///home/../etc/passwd',
    'file:///%65tc/passwd',
    'file:\\\\\\etc\\passwd',
    'file:///a/%2e%2e/etc/x',
  ])
    t.equal(verdict(deny, uri), 'deny', uri)
  t.equal(verdict(deny, 'file:///home/etc'), 'none')
  const allow = [{ resource: 'file:///home/*', then: 'allow' }]
  t.equal(verdict(allow, 'file:///home/x'), 'allow')
  t.equal(verdict(allow, 'file:///home/../etc/passwd'), 'none')
})

t.test('a pattern with brackets is in doubt about a name that is too long for it', async t => {
  const kinds = (own: string): unknown[] =>
    new Policy(rulesOf(['allow', 'deny'].map(then => ({ resource: '{a,b}:*c*d*e*f*g', then }))))
      .about({ kind: 'resource', server: 'shop', own })
      .map(({ rule }) => rule.then)
  t.same(kinds('a:cdefg'), ['allow', 'deny'])
  t.same(kinds('a:x'), [])
  t.same(kinds(`a:${'cdef'.repeat(2000)}`), ['deny'])
})

t.test('hostile arguments take linear time', async t => {
  const sinceMs = performance.now()
  const long = 'a'.repeat(65_000)
  const rules = rulesOf([
    { when: { '/x': { glob: `${'*a'.repeat(90)}b` } }, then: 'deny' },
    { when: { '/x': { glob: `*${'a'.repeat(190)}?b*` } }, then: 'deny' },
    { when: { '/x': { equals: { a: 1 } } }, then: 'deny' },
    { when: { '/x/*/*/*': { above: 1 } }, then: 'ask' },
    { resource: '*a*a*a*a*b', then: 'deny' },
  ])
  t.equal(ruleTool(rules, 'x', JSON.stringify({ x: long })).verdict, 'ask')
  t.equal(ruleTool(rules, 'x', `{"x":"${'a'.repeat(70_000)}"}`).verdict, 'deny')
  t.equal(ruleTool(rules, 'x', `{"x":${'[['.repeat(200)}1${']]'.repeat(200)}}`).verdict, 'deny')
  t.equal(ruleTool(rules, 'x', `{"x":{"y":[${Array(500_000).fill(1).join()}]}}`).verdict, 'deny')
  t.same(new Policy(rules).about({ kind: 'resource', server: 'shop', own: 'a'.repeat(8000) }).length, 4)
  t.ok(performance.now() - sinceMs < 2000)
})
